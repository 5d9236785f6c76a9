// Recorded games: files, and the games of a file. One game is shown as those that are played.

import { gamePage } from "./play.js";
import { ask, el, moment, sentence, table } from "./tools.js";

// Agents of a file that are named in the list.
const MOST_NAMED = 6;

export async function recordsPage(main, file, game) {
  document.title = "Recorded games";
  if (file === undefined) return filesPage(main);
  if (game === undefined) return gamesPage(main, file);
  const { id } = await ask("/api/records/open", { file, game: Number(game) });
  return gamePage(main, id);
}

function address(...parts) {
  return `#/records/${parts.map(encodeURIComponent).join("/")}`;
}

function row(cells) {
  return el("tr", {}, ...cells.map((cell) => el("td", {}, cell)));
}

async function filesPage(main) {
  const files = await ask("/api/records");
  main.replaceChildren(el("h1", {}, "Recorded games"),
    files.length ? table(["game", "who played", "games", "written", "file"], files.map((each) => row(fileCells(each))))
      : el("p", {}, "There are no recorded games. Games that you play are saved here. ", el("code", {}, "ttt tournament"),
        " makes some, too, and ", el("code", {}, "ttt serve --records FOLDER"), " shows them."));
}

/** A file: its game, who played, how many games, and when. */
function fileCells({ file, games, agents, count, more, touched, error }) {
  if (error) return ["", sentence(error), "", moment(touched), file];
  const who = agents.length > MOST_NAMED ? [...agents.slice(0, MOST_NAMED), `${agents.length - MOST_NAMED} more`] : agents;
  const titles = games.map((each) => each.title).join(", ") || "none";
  return [el("a", { href: count === 1 ? address(file, 0) : address(file) }, titles), who.join(" · "),
    `${more ? "more than " : ""}${count.toLocaleString()}`, moment(touched), file];
}

async function gamesPage(main, file) {
  const games = await ask(`/api/records/games?file=${encodeURIComponent(file)}`);
  const titles = [...new Set(games.map((each) => each.title))];
  main.replaceChildren(el("h1", {}, titles.join(", ") || file), el("p", { class: "note" }, `${file} · `, el("a", { href: "#/records" }, "All files")),
    table(["game", "who played", "won by", "plies"], games.map((each) => row([el("a", { href: address(file, each.index) }, `Game ${each.number}`),
      each.agents.join(" – "), each.winners.length ? each.winners.join(" and ") : "draw", each.plies]))));
}
