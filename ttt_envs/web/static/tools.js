// What all parts of the page share: elements, requests, and words.

const SVG = "http://www.w3.org/2000/svg";

// Milliseconds after which work shows that it is under way.
const PATIENCE = 300;

const PREPARING = "Preparing the game. The first time, its rules are compiled, which can take half a minute.";

/** An element; "svg:line" is one of a drawing. Attributes "on..." are listeners, true and false are flags. */
export function el(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if ((value ?? false) !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => (child ?? false) !== false));
  return element;
}

export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** An error to be shown: what the server refuses, and that it does not answer. */
export class Refusal extends Error {}

async function send(path, body, signal) {
  const post = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { signal, ...post }).catch(() => {
    throw new Refusal("The server does not answer. It may have been stopped.");
  });
  if (answer.ok) return answer;
  const found = await answer.json().catch(() => ({}));
  throw new Refusal(sentence(found.error ?? `the server answered ${answer.status}`));
}

/** The JSON that answers a GET, or with a body a POST; throws Refusal. */
export async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

/** Save a file by the name that the server gives it. */
export async function keep(path, body, signal) {
  const answer = await send(path, body, signal);
  const [, name] = answer.headers.get("content-disposition").match(/filename="([^"]+)"/);
  const address = URL.createObjectURL(await answer.blob());
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The answer to a request, by `how`, that may take long: after a moment `place` shows `words` and how to leave it. Null if it was left. */
export async function patiently(place, words, path, body, how = ask) {
  const left = new AbortController();
  const waiting = setTimeout(() => {
    place.hidden = false;
    place.replaceChildren(el("span", { class: "working" }), ` ${words} `, button("Cancel", () => left.abort()));
  }, PATIENCE);
  try {
    return await how(path, body, left.signal);
  } catch (error) {
    if (!left.signal.aborted) throw error;
    return null;
  } finally {
    clearTimeout(waiting);
    place.hidden = true;
  }
}

let beginning = false;

/** Begin a game and show it. The second of two quick clicks does nothing. */
export async function begin(place, path, body) {
  if (beginning) return;
  beginning = true;
  try {
    const made = await patiently(place, PREPARING, path, body);
    if (made) location.hash = `#/g/${made.id}`;
  } finally {
    beginning = false;
  }
}

let hiding;

/** Show an error for a while. */
export function complain(text) {
  const place = document.getElementById("trouble");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.hidden = true; }, 8000);
}

/** Tell those who listen to the page what has happened. */
export function say(text) {
  if (text) document.getElementById("said").textContent = text;
}

/** A text with a capital letter and a full stop. */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** A reward or a value with its sign. */
export function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return (Number(text) === 0 ? "" : value < 0 ? "−" : "+") + text;
}

/** A share as a percentage; a dash where there is none. */
export function percent(share) {
  return share === undefined ? "–" : `${Math.round(100 * share)} %`;
}

/** A time in seconds since 1970, for people. */
export function moment(seconds) {
  return new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The sign before a loss that a search estimates. */
export function about(decision) {
  return decision.source === "oracle" ? "" : "≈ ";
}

/** What the names of losses mean. */
export function scale(limits) {
  return `A loss is measured against optimal play, or between two estimates of one search: ${limits.map(([name, least]) => `${name} from ${least}`).join(", ")}.`;
}

/** A table of rows of cells, to scroll sideways on a narrow screen. */
export function table(head, rows) {
  return el("div", { class: "scroll" }, el("table", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name))), ...rows));
}

/** A drawing as the address of a picture. */
export function picture(svg) {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

/** The rules of a game to unfold, with the pictures of positions that show them, which are fetched when they are seen. */
export function rulesOf(game, text) {
  const pictures = el("div", { class: "lessons" });
  const box = el("details", { ontoggle: async () => {
    if (!box.open || pictures.childElementCount) return;
    const found = await ask(`/api/games/${game}/lessons`);
    pictures.replaceChildren(...found.map((each) => el("figure", {},
      el("img", { alt: "", src: picture(each.svg) }), el("figcaption", {}, ...emphasised(each.said)))));
  } }, el("summary", {}, "Rules"), pictures, ...prose(text));
  return box;
}

/** Rules as elements: paragraphs, and list items that begin with "- ". */
function prose(text) {
  const parts = [];
  for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) {
    if (!line.startsWith("- ")) parts.push(el("p", {}, ...emphasised(line)));
    else if (parts.at(-1)?.tagName === "UL") parts.at(-1).append(el("li", {}, ...emphasised(line.slice(2))));
    else parts.push(el("ul", {}, el("li", {}, ...emphasised(line.slice(2)))));
  }
  return parts;
}

function emphasised(line) {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).filter(Boolean).map((part) =>
    part.startsWith("**") ? el("b", {}, part.slice(2, -2)) : part.startsWith("`") ? el("code", {}, part.slice(1, -1)) : part);
}
