// What all parts of the page share: elements, requests, and what is said to people.

/** An element. `attributes`: "on..." is a listener, true and false are flags, "class" and the like as in HTML. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of a drawing. */
export function drawn(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Milliseconds after which work shows that it is under way, and what is thrown where somebody has left it.
const PATIENCE = 300;
const LEFT = "It was left.";

/** The answer to a GET, by `how`, that may take long: after a moment `place` shows `words` and how to leave it. Null if it was left. */
export async function patiently(path, place, words, how = ask) {
  const left = new AbortController();
  const waiting = setTimeout(() => {
    place.hidden = false;
    place.replaceChildren(el("span", { class: "working" }), ` ${words} `, el("button", { type: "button", onclick: () => left.abort() }, "Leave it"));
  }, PATIENCE);
  try {
    return await how(path, undefined, left.signal);
  } catch (error) {
    if (!left.signal.aborted) throw error;
    return null;
  } finally {
    clearTimeout(waiting);
    place.hidden = true;
    place.replaceChildren();
  }
}

export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** The answer to a GET, or with a body to a POST. Throws Refusal with the server's reason. */
async function send(path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, body === undefined ? { signal } : {
      signal,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    if (signal?.aborted) throw new Refusal(0, LEFT);
    throw new Refusal(0, "The server does not answer. It may have been stopped.");
  }
  if (answer.ok) return answer;
  const found = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, sentence(found.error ?? `the server answered ${answer.status}`));
}

/** The JSON of such an answer. */
export async function ask(path, body, signal) {
  return (await send(path, body, signal)).json().catch(() => ({}));
}

/** A file for the person to keep, by the name that the server gives it. */
export async function keep(path, body, signal) {
  const answer = await send(path, body, signal);
  const [, name] = answer.headers.get("content-disposition").match(/filename="([^"]+)"/);
  const address = URL.createObjectURL(await answer.blob());
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A function for listeners: what it throws is shown. */
export function guarded(work) {
  return async (...given) => {
    try {
      await work(...given);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      complain(error.message);
    }
  };
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

/** The rules of a game to unfold, with the pictures of positions that show them, which are fetched when they are seen. */
export function rulesOf(game, text) {
  const pictures = el("div", { class: "lessons" });
  const box = el("details", { ontoggle: guarded(async () => {
    if (!box.open || pictures.childElementCount) return;
    const found = await ask(`/api/games/${game}/lessons`);
    pictures.replaceChildren(...found.map((each) => el("figure", {},
      el("img", { alt: "", src: picture(each.svg) }), el("figcaption", {}, ...emphasised(each.said)))));
  }) }, el("summary", {}, "Rules"), pictures, ...prose(text));
  return box;
}

/** A drawing as the address of a picture. */
export function picture(svg) {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

/** Rules as elements: paragraphs, and list items that begin with "- ". */
function prose(text) {
  const parts = [];
  let list = null;
  for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) {
    if (line.startsWith("- ")) {
      if (!list) parts.push(list = el("ul"));
      list.append(el("li", {}, ...emphasised(line.slice(2))));
    } else {
      list = null;
      parts.push(el("p", {}, ...emphasised(line)));
    }
  }
  return parts;
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
  return `A loss is measured against best play, or between two estimates of one search: ${limits.map(([name, least]) => `${name} from ${least}`).join(", ")}.`;
}

function emphasised(line) {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).filter(Boolean).map((part) =>
    part.startsWith("**") ? el("b", {}, part.slice(2, -2)) : part.startsWith("`") ? el("code", {}, part.slice(1, -1)) : part);
}
