// Choosing a game: by its picture, or with its options and who sits where.

import { ask, complain, drawn, el, guarded, moment, Refusal, rulesOf, sentence } from "./tools.js";

// Levels, with what their faces look like: the height of the brows, and the curve of the mouth.
const LEVELS = { easy: [0, 6], medium: [0, 0], strong: [3, -3], perfect: [5, 3] };
const USUAL = "medium";

/** The games as pictures: a click on one plays it, against an opponent of the level chosen. */
export async function homePage(main) {
  const found = await ask("/api/games");
  let level = kept() in LEVELS ? kept() : USUAL;
  const cards = el("div", { class: "cards" });
  const status = el("p", { role: "status", class: "note" });

  /** The opponent of the level, or of the next one below where the game has none. */
  const opponent = (game) => {
    const names = Object.keys(LEVELS);
    const up = names.slice(0, names.indexOf(level) + 1);
    return game.levels.filter((each) => up.includes(each.name)).at(-1);
  };
  const play = guarded(async (game, card) => {
    if (cards.querySelector(".starting")) return; // the second of two quick clicks
    const against = opponent(game);
    if (!against) {
      location.hash = `#/new/${game.id}`; // it has no ladder: its opponents are chosen from a list
      return;
    }
    card.classList.add("starting");
    const waiting = setTimeout(() => status.replaceChildren(PATIENCE), 300);
    try {
      const seats = Array.from({ length: game.players }, (_, player) => (player ? against.agent : null));
      const made = await ask("/api/served", { game: game.id, options: {}, seats });
      location.hash = `#/g/${made.id}`;
    } finally {
      clearTimeout(waiting);
      status.replaceChildren();
      card.classList.remove("starting");
    }
  });
  const draw = () => cards.replaceChildren(...found.games.filter((game) => !game.variant_of).map((game) => {
    const against = opponent(game);
    const low = against && against.name !== level ? "the strongest there is: " : "";
    const variants = found.games.filter((each) => each.variant_of === game.id);
    const card = el("article", { class: "card" },
      el("button", { type: "button", class: "card-play", "data-play": game.id, "aria-label": `Play ${game.title}`, onclick: () => play(game, card) },
        game.picture && el("span", { class: "shown" }, el("img", { src: `/pictures/${game.id}`, alt: "" })),
        el("b", {}, game.title), el("span", {}, game.pitch)),
      el("p", { class: "note" }, against ? `${low}${against.title}${against.elo === null ? "" : `, ${against.elo} Elo on its ladder`}` : ""),
      el("p", { class: "more" }, el("a", { href: `#/new/${game.id}` }, "Options and seats"),
        ...variants.flatMap((each) => [" · ", el("a", { href: `#/new/${each.id}` }, each.title)])));
    return card;
  }));
  const levels = el("fieldset", { class: "levels" }, el("legend", {}, "Your opponent"),
    ...Object.keys(LEVELS).map((name) => el("label", { class: "level" },
      el("input", { type: "radio", name: "level", value: name, checked: name === level, onchange: () => {
        level = name;
        kept(name);
        draw();
      } }), face(name), el("span", {}, name))));
  draw();
  main.replaceChildren(el("h1", {}, "Play a game"),
    el("p", { class: "lead" }, "Click a game to start. Afterwards you see how much each of your moves lost against optimal play, where that is known."), levels, status, cards, ...ownGames(found.own));
  document.title = "ttt-envs";
}

/** The level that this tab keeps, or is to keep; none where the browser keeps nothing. */
function kept(level) {
  try {
    if (level) sessionStorage.setItem("level", level);
    return sessionStorage.getItem("level");
  } catch {
    return null;
  }
}

/** The face of a level. */
function face(name) {
  const [brow, mouth] = LEVELS[name];
  const parts = [
    ["circle", { cx: 24, cy: 24, r: 21, class: `face ${name}` }],
    ["circle", { cx: 16.5, cy: 21, r: 2.6 }], ["circle", { cx: 31.5, cy: 21, r: 2.6 }],
    ["path", { d: `M11 ${14 - brow / 2}L20 ${14 + brow / 2}M37 ${14 - brow / 2}L28 ${14 + brow / 2}`, class: "stroke" }],
    ["path", { d: `M15 32Q24 ${32 + mouth} 33 32`, class: "stroke" }],
  ];
  return drawn("svg", { viewBox: "0 0 48 48", "aria-hidden": "true" }, ...parts.map((part) => drawn(...part)));
}

export async function setupPage(main, game) {
  const status = el("p", { role: "status" });
  const form = el("form", { class: "setup", onsubmit: (event) => event.preventDefault() }, status);
  let asked = 0;

  const choose = guarded(async (options) => {
    const mine = ++asked;
    const waiting = setTimeout(() => status.replaceChildren(PATIENCE), 300);
    let answer;
    try {
      answer = await ask("/api/setup", { game, options });
    } finally {
      clearTimeout(waiting);
    }
    if (mine === asked) showGame(form, answer, options, choose, seatsOf(form));
  });

  main.replaceChildren(el("h1", {}, "A game with your options"), form);
  document.title = "ttt-envs";
  await choose({});
}

const PATIENCE = "Preparing the game. The first time, its rules are compiled, which can take half a minute.";

function ownGames(own) {
  if (!own.length) return [];
  const items = own.map((each) => el("li", {},
    el("a", { href: `#/g/${each.id}` }, each.title), " ",
    el("small", {}, `${each.over ? "over" : "in progress"}, ${moment(each.touched)}`)));
  return [el("h2", {}, "Your games"), el("ul", { class: "own" }, ...items)];
}

/** Show the form of a game. What was folded out stays so. */
function showGame(place, setup, options, choose, seats) {
  const changed = () => choose(optionsOf(place));
  const open = [...place.querySelectorAll("details")].map((each) => each.open);
  const rules = rulesOf(setup.id, setup.rules);
  rules.open = Boolean(open[1]);
  place.replaceChildren(
    el("h2", {}, setup.title),
    el("fieldset", { "data-game": setup.id }, el("legend", {}, "Seats"),
      ...setup.players.map((_, player) => seatField(setup, player, seats[player]))),
    el("details", { open: open[0] }, el("summary", {}, "Options"),
      setup.fields.length ? el("div", { class: "options" }, ...setup.fields.map((field) => optionField(field, options, changed)))
        : el("p", {}, "This game has no options.")),
    rules,
    el("p", {}, el("button", { type: "button", class: "main", onclick: (event) => start(place, setup, event.target) }, "Start the game")),
    el("p", { role: "status", class: "note" }),
  );
}

async function start(place, setup, button) {
  button.disabled = true;
  const waiting = setTimeout(() => place.querySelector("[role=status]").replaceChildren(PATIENCE), 600);
  try {
    const made = await ask("/api/served", { game: setup.id, options: optionsOf(place), seats: seatsOf(place).map((each) => each || null) });
    location.hash = `#/g/${made.id}`;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    complain(error.message);
    button.disabled = false;
  } finally {
    clearTimeout(waiting);
    place.querySelector("[role=status]")?.replaceChildren();
  }
}

function seatField(setup, player, before) {
  const team = setup.teams.length < setup.players.length ? `, side ${setup.teams.findIndex((each) => each.includes(player))}` : "";
  const kinds = el("select", { name: "seat" },
    el("option", { value: "" }, player ? "you, or a person beside you" : "you"),
    el("optgroup", { label: "agents" }, ...setup.agents.map((each) => el("option", { value: each.agent }, each.title))));
  const wanted = before ?? (player ? setup.agents[0]?.agent : "") ?? "";
  if ([...kinds.options].some((each) => each.value === wanted)) kinds.value = wanted;
  else kinds.selectedIndex = player === 0 ? 0 : Math.min(1, kinds.options.length - 1);
  return el("label", { class: "field" }, el("span", {}, setup.players[player] + team), kinds);
}

function seatsOf(place) {
  return [...place.querySelectorAll("select[name=seat]")].map((each) => each.value);
}

function optionField(field, options, changed) {
  const value = options[field.name] ?? field.default;
  const about = { name: field.name, "data-default": field.default, onchange: changed, "data-option": true };
  let input;
  if (field.kind === "bool") {
    input = el("input", { ...about, type: "checkbox", checked: value === "true" });
  } else if (field.kind === "choice") {
    input = el("select", about, ...field.choices.map((each) => el("option", { value: each, selected: each === value }, each.replaceAll("_", " "))));
  } else if (field.kind === "int") {
    input = el("input", { ...about, type: "number", min: field.low, max: field.high, step: 1, value: value === "none" ? "" : value,
      placeholder: field.optional ? "empty" : null });
  } else {
    input = el("input", { ...about, type: "text", value });
  }
  const range = field.kind !== "int" ? "" : field.low === field.high ? ` (${field.low})` : ` (${field.low} to ${field.high})`;
  const name = el("span", {}, field.name.replaceAll("_", " ") + range);
  const both = field.kind === "bool" ? el("span", { class: "check" }, input, name) : [name, input];
  return el("label", { class: "field" }, ...[both].flat(), el("small", {}, sentence(field.meaning)));
}

/** The options that are not as they are by default, as texts. */
function optionsOf(place) {
  const found = {};
  for (const input of place.querySelectorAll("[data-option]")) {
    const value = input.type === "checkbox" ? String(input.checked) : input.value.trim() || "none";
    if (value !== input.dataset.default) found[input.name] = value;
  }
  return found;
}
