// How a game went: how good its moves were, and the expected reward under optimal play by ply.

import { about, el, scale, signed } from "./tools.js";

const WIDTH = 640;
const HEIGHT = 160;
const LEFT = 44;
const EDGE = 12;

/**
 * A graph. `lines`: for each line its points {ply, value, grade, said}; `most`: the greatest value of the scale;
 * `look(ply)` is called for a click. Gives the element, and what marks a ply in it.
 */
function chart(lines, plies, most, look) {
  const x = (ply) => LEFT + (WIDTH - LEFT - EDGE) * (ply / plies);
  const y = (value) => HEIGHT / 2 - (HEIGHT / 2 - EDGE) * (value / most);
  const scale = [most, 0, -most].flatMap((value) => [
    el("svg:line", { x1: LEFT, x2: WIDTH - EDGE, y1: y(value), y2: y(value), class: "scale" }),
    el("svg:text", { x: LEFT - 8, y: y(value) + 5 }, signed(value, 1)),
  ]);
  const marker = el("svg:line", { y1: EDGE, y2: HEIGHT - EDGE, class: "here" });
  const paths = lines.flatMap((points, k) => pieces(points).map((piece) => el("svg:polyline", {
    class: `line line-${k}${about(piece[0]) && " estimated"}`, points: [...piece, piece.at(-1)].map((each) => `${x(each.ply)},${y(each.value)}`).join(" "),
  })));
  const dots = lines.flat().filter((each) => each.grade).map((each) =>
    el("svg:circle", { cx: x(each.ply), cy: y(each.value), r: 5, class: each.grade, "data-ply": each.ply }, el("svg:title", {}, each.said)));
  const element = el("svg:svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": "The expected reward by move",
    onclick: (event) => {
      const box = element.getBoundingClientRect();
      const across = ((event.clientX - box.left) / box.width) * WIDTH;
      const ply = event.target.dataset.ply ?? Math.round(((across - LEFT) / (WIDTH - LEFT - EDGE)) * plies);
      look(Math.min(Math.max(Number(ply), 0), plies));
    },
  }, ...scale, marker, ...paths, ...dots);
  const mark = (ply) => {
    marker.setAttribute("x1", x(ply));
    marker.setAttribute("x2", x(ply));
  };
  return [element, mark];
}

/** A line in pieces: proved values are not joined with estimates. */
function pieces(points) {
  const found = [];
  for (const each of points) {
    if (found.length && about(found.at(-1)[0]) === about(each)) found.at(-1).push(each);
    else found.push([each]);
  }
  return found;
}

/**
 * A review as the server sends it, as elements; and what marks a ply in it. `of`: `names` of the players, `spoken(action)`,
 * `you` the player whose view it is or null, `plies`, `rewards`, and `look(ply)` for a click.
 */
export function reviewOf(found, of) {
  const known = found.decisions.filter((each) => each.regret !== null);
  if (!known.length) return [[el("p", {}, "It is not known what was best in this game.")], () => {}];
  const players = [...new Set(known.map((each) => each.player))];
  const estimated = known.filter(about).length;
  const unproved = found.decisions.filter((each) => each.source === "oracle" && each.regret === null).length;
  const judges = [[known.length - estimated, "judged by the oracle"], [estimated, "estimated by a search (≈)"], [unproved, "not proved"]];
  const note = `${judges.filter(([number]) => number).map(([number, how]) => `${movesOf(number)} ${how}`).join(", ")}. ${scale(found.limits)}`;
  const [graphed, mark] = graph(found.decisions, of);
  return [[
    ...players.map((player) => el("p", {}, el("b", {}, of.names[player]), `: ${counts(found.decisions.filter((each) => each.player === player), found.limits)}`)),
    ...graphed, el("p", { class: "note" }, note)], mark];
}

/** How many decisions have lost much, the worst first, such as "2 blunders, 1 mistake in 17 moves; 4 more were not judged". */
function counts(decisions, limits) {
  const judged = decisions.filter((each) => each.regret !== null).length;
  const parts = limits.toReversed().map(([grade]) => {
    const number = decisions.filter((each) => each.grade === grade).length;
    return number && `${number} ${number === 1 ? grade : `${grade.replace(/y$/, "ie")}s`}`;
  });
  return `${parts.filter(Boolean).join(", ") || "no mistakes"} in ${movesOf(judged)}${judged < decisions.length ? `; ${decisions.length - judged} more ${decisions.length - judged === 1 ? "was" : "were"} not judged` : ""}`;
}

function movesOf(number) {
  return `${number} ${number === 1 ? "move" : "moves"}`;
}

/** The expected rewards by ply, as elements: of two players as one line, of more a line for each; and what marks a ply. */
function graph(decisions, of) {
  const known = decisions.filter((each) => each.value !== null);
  if (!known.length) return [[], () => {}];
  const two = of.names.length === 2;
  const players = two ? [known.some((each) => each.player === of.you) ? of.you : known[0].player] : [...new Set(known.map((each) => each.player))];
  const lines = players.map((player) => {
    const points = known.filter((each) => two || each.player === player).map((each) => ({
      ...each, value: each.player === player ? each.value : -each.value, said: `move ${each.ply + 1}: ${of.spoken(each.played)}, ${about(each)}${signed(-each.regret)} ${each.grade}`,
    }));
    return [...points, { ply: of.plies, value: of.rewards[player], source: points.at(-1)?.source }];
  });
  const most = two ? 1 : Math.max(...lines.flat().map((each) => Math.abs(each.value)), 0.1);
  const [element, mark] = chart(lines, of.plies, most, of.look);
  const whose = players.map((player) => (of.names[player] === "You" ? "your" : `${of.names[player]}'s`)).join(" and ");
  return [[element, el("p", { class: "note" }, `How good ${whose} position was${two ? ", from −1 (lost) to +1 (won)" : ""}; faint where it is an estimate. Dots mark inaccuracies, mistakes and blunders: click one to go there.`)], mark];
}
