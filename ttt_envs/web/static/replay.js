// Recorded games: files, the games of a file, and one game position by position.

import { Board } from "./board.js";
import { ask, el, guarded, rulesOf, say, sentence } from "./tools.js";

export async function recordsPage(main, file, game) {
  document.title = "Recorded games";
  if (file === undefined) return filesPage(main);
  return game === undefined ? gamesPage(main, file) : replayPage(main, file, Number(game));
}

function address(...parts) {
  return `#/records/${parts.map(encodeURIComponent).join("/")}`;
}

async function filesPage(main) {
  const names = await ask("/api/records");
  main.replaceChildren(el("h1", {}, "Recorded games"),
    names.length ? el("p", { class: "lead" }, "Each file has the games of a tournament. Choose one to see them move by move.") : "",
    names.length ? el("ul", {}, ...names.map((name) => el("li", {}, el("a", { href: address(name) }, name))))
      : el("p", {}, "There are no recorded games. ", el("code", {}, "ttt tournament --record"), " makes some, and ",
        el("code", {}, "ttt serve --records FOLDER"), " shows them."));
}

async function gamesPage(main, file) {
  const body = el("tbody");
  const more = el("button", { type: "button", onclick: guarded(() => add()) }, "More games");
  async function add() {
    const found = await ask(`/api/records/games?file=${encodeURIComponent(file)}&first=${body.childElementCount}`);
    more.hidden = !found.more;
    body.append(...found.games.map((each) => el("tr", {},
      el("td", {}, el("a", { href: address(file, each.index) }, `game ${each.number}`)),
      el("td", {}, each.agents.join(" – ")), el("td", {}, `${each.plies}`),
      el("td", {}, each.winners.length ? each.winners.join(" and ") : "draw"))));
  }
  await add();
  main.replaceChildren(el("h1", {}, file), el("p", {}, el("a", { href: "#/records" }, "All files")),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["game", "agents", "plies", "won by"].map((each) => el("th", { scope: "col" }, each)))), body)),
    el("p", {}, more));
}

async function replayPage(main, file, game) {
  const fetchFrame = (k) => ask(`/api/records/frame?file=${encodeURIComponent(file)}&game=${game}&frame=${k}`);
  const first = await fetchFrame(0);
  const board = new Board(() => {});
  const status = el("h1", { class: "status" });
  const text = el("pre");
  const slider = el("input", { type: "range", min: 0, max: first.frames - 1, value: 0, "aria-label": "position", oninput: guarded(() => look(Number(slider.value))) });
  const place = el("span", { class: "ply" });
  const back = el("button", { type: "button", class: "step", "aria-label": "back", onclick: guarded(() => look(shown - 1)) }, "◀");
  const forth = el("button", { type: "button", class: "step", "aria-label": "on", onclick: guarded(() => look(shown + 1)) }, "▶");
  const run = el("button", { type: "button", onclick: guarded(() => play()) }, "Play");
  let shown = 0;
  let running = false;
  let left = false;

  async function look(k) {
    if (k < 0 || k >= first.frames) return;
    shown = k;
    const found = await fetchFrame(k);
    if (shown !== k || left) return;
    board.show(found, [], {});
    const result = found.result && found.result.whole;
    status.textContent = sentence(result || (found.ended_round ? `round over, ${found.move}` : found.move));
    text.textContent = found.text;
    slider.value = k;
    slider.setAttribute("aria-valuetext", found.move);
    place.textContent = `ply ${found.ply}`;
    back.disabled = k === 0;
    forth.disabled = k === first.frames - 1;
    say(status.textContent);
  }

  async function play() {
    running = !running;
    run.textContent = running ? "Pause" : "Play";
    if (running && shown === first.frames - 1) await look(0);
    while (running && !left && shown < first.frames - 1) {
      await new Promise((done) => { setTimeout(done, 800); });
      if (running && !left) await look(shown + 1);
    }
    running = false;
    run.textContent = "Play";
  }

  main.replaceChildren(el("div", { class: "play" },
    el("section", { class: "left", "aria-label": "Board" }, status, board.element, el("div", { class: "history" }, back, slider, forth, place), board.told),
    el("section", { class: "right", "aria-label": "Game" },
      el("p", { class: "note" }, `${first.game.title}, game ${first.number}`),
      el("ul", { class: "seats" }, ...first.agents.map((each) => el("li", {}, each))), el("div", { class: "buttons" }, run),
      el("p", {}, el("a", { href: address(file) }, "All games of this file")),
      el("details", {}, el("summary", {}, "The position as text"), text),
      rulesOf(first.game.id, first.game.rules))));
  await look(0);
  return () => { left = true; };
}
