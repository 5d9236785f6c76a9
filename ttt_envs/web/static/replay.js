// Recorded games: files, the games of a file, and one game position by position.

import { Board } from "./board.js";
import { reviewOf } from "./chart.js";
import { ask, el, guarded, moment, patiently, rulesOf, say, sentence } from "./tools.js";

// Agents of a file that are named in the list.
const MOST_NAMED = 6;

export async function recordsPage(main, file, game) {
  document.title = "Recorded games";
  if (file === undefined) return filesPage(main);
  return game === undefined ? gamesPage(main, file) : replayPage(main, file, Number(game));
}

function address(...parts) {
  return `#/records/${parts.map(encodeURIComponent).join("/")}`;
}

async function filesPage(main) {
  const files = await ask("/api/records");
  main.replaceChildren(el("h1", {}, "Recorded games"),
    files.length ? el("p", { class: "lead" }, "Games that you played, and those of tournaments. Choose a file to see its games move by move, and what each move has lost.") : "",
    files.length ? el("ul", { class: "files-list" }, ...files.map(fileCard))
      : el("p", {}, "There are no recorded games. Games that you play are saved here. ", el("code", {}, "ttt tournament"),
        " makes some, too, and ", el("code", {}, "ttt serve --records FOLDER"), " shows them."));
}

/** A file: its game, who played, how many games, and when. */
function fileCard({ file, games, agents, count, more, touched, error }) {
  if (error) return el("li", {}, el("span", { class: "file-card" }, el("span", {}, el("b", {}, file), el("span", { class: "note" }, sentence(error)))));
  const number = more ? `more than ${count.toLocaleString()} games` : count === 1 ? "1 game" : `${count.toLocaleString()} games`;
  const who = agents.length > MOST_NAMED ? [...agents.slice(0, MOST_NAMED), `${agents.length - MOST_NAMED} more`] : agents;
  return el("li", {}, el("a", { class: "file-card", href: count === 1 ? address(file, 0) : address(file) },
    games.length ? el("img", { src: `/pictures/${games[0].id}`, alt: "" }) : "",
    el("span", {}, el("b", {}, games.map((each) => each.title).join(", ") || "No games"),
      el("span", {}, who.join(" · ")),
      el("span", { class: "note" }, `${number}, ${moment(touched)}, ${file}`))));
}

async function gamesPage(main, file) {
  const games = await ask(`/api/records/games?file=${encodeURIComponent(file)}`);
  const rows = games.map((each) => el("tr", {},
    el("td", {}, el("a", { href: address(file, each.index) }, `Game ${each.number}`)),
    el("td", {}, each.agents.join(" – ")),
    el("td", {}, each.winners.length ? each.winners.join(" and ") : "draw"), el("td", {}, `${each.plies}`)));
  const titles = [...new Set(games.map((each) => each.title))];
  main.replaceChildren(el("h1", {}, titles.join(", ") || file), el("p", { class: "note" }, `${file} · `, el("a", { href: "#/records" }, "All files")),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["game", "who played", "won by", "plies"].map((each) => el("th", { scope: "col" }, each)))), el("tbody", {}, ...rows))));
}

async function replayPage(main, file, game) {
  const query = `file=${encodeURIComponent(file)}&game=${game}`;
  const fetchFrame = (k) => ask(`/api/records/frame?${query}&frame=${k}`);
  const first = await fetchFrame(0);
  const board = new Board(() => {});
  const status = el("h1", { class: "status" });
  const text = el("pre");
  const slider = el("input", { type: "range", min: 0, max: first.frames - 1, value: 0, "aria-label": "position", oninput: guarded(() => look(Number(slider.value))) });
  const place = el("span", { class: "ply" });
  const back = el("button", { type: "button", class: "step", "aria-label": "back", onclick: guarded(() => look(shown - 1)) }, "◀");
  const forth = el("button", { type: "button", class: "step", "aria-label": "on", onclick: guarded(() => look(shown + 1)) }, "▶");
  const run = el("button", { type: "button", onclick: guarded(() => play()) }, "Play");
  const working = el("p", { class: "banner", role: "status", hidden: true });
  const review = el("div", { class: "review" });
  let mark = () => {};
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
    mark(found.ply);
    say(status.textContent);
  }

  /** What the moves have lost, below the agents. */
  async function judge() {
    const found = await patiently(`/api/records/review?${query}`, working, "Working out what each move has lost …");
    if (found === null || left) return;
    const [parts, markPly] = reviewOf(found, {
      names: first.players, who: (player) => first.players[player], spoken: (name) => found.names[name] ?? name, you: 0,
      plies: found.frames.length - 1, rewards: found.rewards, look: guarded((ply) => look(found.frames[ply])),
    });
    mark = markPly;
    review.replaceChildren(el("h2", {}, "What the moves have lost"), ...parts);
    mark(found.frames.findLastIndex((k) => k <= shown));
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
      el("h2", { class: "title" }, `${first.game.title}, game ${first.number}`),
      el("ul", { class: "seats" }, ...first.agents.map((each) => el("li", {}, each))), el("div", { class: "buttons" }, run), working, review,
      el("p", {}, el("a", { href: address(file) }, "All games of this file")),
      el("details", {}, el("summary", {}, "The position as text"), text),
      rulesOf(first.game.id, first.game.rules))));
  await look(0);
  guarded(judge)();
  return () => { left = true; };
}
