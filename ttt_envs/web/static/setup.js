// Choosing a game: by its picture, or with its options and who sits where.

import { ask, begin, button, el, moment, patiently, rulesOf, sentence } from "./tools.js";

// The level of a click on a picture, where the game has it.
const USUAL = "medium";

/** Where the page says that something takes a while. */
function waitingPlace() {
  return el("p", { class: "banner", role: "status", hidden: true });
}

/** The games as pictures, each with its opponents. */
export async function homePage(main) {
  const found = await ask("/api/games");
  const status = waitingPlace();
  main.replaceChildren(el("h1", {}, "Play a game"),
    el("p", { class: "lead" }, "Click a picture to play against the medium opponent, or a face for another one. Afterwards you see which of your moves lost something against optimal play, where that is known."),
    status, el("div", { class: "cards" }, ...found.games.map((game) => card(game, status))), ...ownGames(found.own));
  document.title = "ttt-envs";
}

/** A game: a click on its picture, or on the face of a level, plays it. */
function card(game, status) {
  const usual = game.levels.find((each) => each.name === USUAL) ?? game.levels[0];
  const play = ({ agent }) => begin(status, "/api/served", {
    game: game.id, options: {}, seats: Array.from({ length: game.players }, (_, player) => (player ? agent : null)) });
  return el("article", { class: "card", "data-game": game.id },
    el("button", { type: "button", class: "card-play", "data-play": game.id, "aria-label": `Play ${game.title}`,
      onclick: () => (usual ? play(usual) : location.assign(`#/new/${game.id}`)) },
    game.picture && el("span", { class: "shown" }, el("img", { src: `/pictures/${game.id}`, alt: "" })),
    el("b", {}, game.title), el("span", {}, game.pitch)),
    el("div", { class: "levels", role: "group", "aria-label": `Opponents in ${game.title}` }, ...game.levels.map((level) =>
      el("button", { type: "button", title: level.about, onclick: () => play(level) },
        el("img", { src: `/static/${level.name}.svg`, alt: "" }), level.name))),
    el("a", { href: `#/new/${game.id}` }, "Options and players"));
}

function ownGames(own) {
  if (!own.length) return [];
  const items = own.map((each) => el("li", {}, el("a", { href: `#/g/${each.id}` }, each.title), " ",
    el("small", {}, `${each.over ? "over" : "in progress"}, ${moment(each.touched)}`)));
  return [el("h2", {}, "Your games"), el("ul", { class: "own" }, ...items)];
}

/** A game with its options and seats. What the options allow changes with them. */
export async function setupPage(main, game) {
  const status = waitingPlace();
  const form = el("form", { class: "setup", onsubmit: (event) => event.preventDefault() });
  let asked = 0;
  const choose = async () => {
    const mine = ++asked;
    const setup = await patiently(status, "Looking for the agents that play this game.", "/api/setup", { game, options: optionsOf(form) });
    if (setup && mine === asked) showGame(form, setup, choose, status);
  };
  main.replaceChildren(el("h1", {}, "A game with your options"), status, form);
  document.title = "ttt-envs";
  await choose();
}

/** Show the form of a game. What was chosen and folded out stays so. */
function showGame(form, setup, choose, status) {
  const [options, seats] = [optionsOf(form), seatsOf(form)];
  const [optionsOpen, rulesOpen] = [...form.querySelectorAll("details")].map((each) => each.open);
  const rules = rulesOf(setup.id, setup.rules);
  rules.open = Boolean(rulesOpen);
  form.replaceChildren(
    el("h2", {}, setup.title),
    el("fieldset", { "data-game": setup.id }, el("legend", {}, "Players"),
      ...setup.players.map((_, player) => seatField(setup, player, seats[player]))),
    el("details", { open: optionsOpen }, el("summary", {}, "Options"),
      setup.fields.length ? el("div", { class: "options" }, ...setup.fields.map((field) => optionField(field, options, choose)))
        : el("p", {}, "This game has no options.")),
    rules,
    button("Start the game", () => begin(status, "/api/served", { game: setup.id, options: optionsOf(form), seats: seatsOf(form) }), { class: "main" }));
}

/** Who sits where: by default a person, and then the first agents. */
function seatField(setup, player, before) {
  const team = setup.teams.length < setup.players.length ? `, side ${setup.teams.findIndex((each) => each.includes(player))}` : "";
  const kinds = el("select", { name: "seat" },
    el("option", { value: "" }, player ? "you, or a person beside you" : "you"),
    el("optgroup", { label: "agents" }, ...setup.agents.map((each) => el("option", { value: each.agent }, each.title))));
  kinds.value = before === undefined ? (player && setup.agents[0]?.agent) || "" : before ?? "";
  if (kinds.selectedIndex < 0) kinds.selectedIndex = Math.min(1, kinds.options.length - 1); // an agent that plays no longer
  return el("label", { class: "field" }, el("span", {}, setup.players[player] + team), kinds);
}

/** The agents of the seats, null for a person. */
function seatsOf(form) {
  return [...form.querySelectorAll("select[name=seat]")].map((each) => each.value || null);
}

function optionField(field, options, onchange) {
  const value = options[field.name] ?? field.default;
  const given = { name: field.name, "data-default": field.default, "data-option": true, onchange };
  const input = field.kind === "choice"
    ? el("select", given, ...field.choices.map((each) => el("option", { value: each, selected: each === value }, each.replaceAll("_", " "))))
    : el("input", field.kind === "bool" ? { ...given, type: "checkbox", checked: value === "true" }
      : field.kind === "int" ? { ...given, type: "number", min: field.low, max: field.high, value: value === "none" ? "" : value, placeholder: field.optional ? "empty" : null }
        : { ...given, type: "text", value });
  const range = field.kind === "int" ? ` (${field.low === field.high ? field.low : `${field.low} to ${field.high}`})` : "";
  return el("label", { class: "field" }, el("span", {}, field.name.replaceAll("_", " ") + range), input, el("small", {}, sentence(field.meaning)));
}

/** The options that differ from their defaults, as texts. */
function optionsOf(form) {
  const inputs = [...form.querySelectorAll("[data-option]")];
  const values = inputs.map((input) => [input, input.type === "checkbox" ? String(input.checked) : input.value.trim() || "none"]);
  return Object.fromEntries(values.filter(([input, value]) => value !== input.dataset.default).map(([input, value]) => [input.name, value]));
}
