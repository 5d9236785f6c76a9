// How a game went: what its moves have lost, and the expected reward under best play by ply.

import { about, drawn, el, scale, sentence, signed } from "./tools.js";

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
    drawn("line", { x1: LEFT, x2: WIDTH - EDGE, y1: y(value), y2: y(value), class: "scale" }),
    drawn("text", { x: LEFT - 8, y: y(value) + 5 }, signed(value, 1)),
  ]);
  const marker = drawn("line", { y1: EDGE, y2: HEIGHT - EDGE, class: "here" });
  const paths = lines.flatMap((points, k) => pieces(points).map((piece) => drawn("polyline", {
    class: `line line-${k}${about(piece[0]) && " estimated"}`, points: [...piece, piece.at(-1)].map((each) => `${x(each.ply)},${y(each.value)}`).join(" "),
  })));
  const dots = lines.flat().filter((each) => each.grade).map((each) =>
    drawn("circle", { cx: x(each.ply), cy: y(each.value), r: 5, class: each.grade, "data-ply": each.ply }, drawn("title", {}, each.said)));
  const element = drawn("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": "The expected reward by ply",
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
 * A review as the server sends it, as elements; and what marks a ply in it. `of`: `names` of the players, `who(player)` for
 * sentences, `spoken(action)`, `you` the player whose view it is or null, `plies`, `rewards`, and `look(ply)` for a click.
 */
export function reviewOf(found, of) {
  const known = found.decisions.filter((each) => each.regret !== null);
  if (!known.length) {
    const why = found.decisions.length ? "Nobody knows what was best in this game." : "There was nothing to decide.";
    return [[el("p", {}, why)], () => {}];
  }
  const estimated = known.filter(about).length;
  const unproved = found.decisions.filter((each) => each.source === "oracle" && each.regret === null).length;
  const judges = [known.length - estimated && `the oracle judged ${estimated ? known.length - estimated : "all"}`,
    estimated && `a search estimated ${known.length - estimated ? estimated : "all"} (≈)`].filter(Boolean);
  const lines = Object.entries(found.totals).map(([player, total]) => {
    const own = known.filter((each) => each.player === Number(player)), guessed = own.filter(about).length;
    const how = guessed ? `, ${guessed < own.length ? "in part " : ""}by a search's estimate` : "";
    return el("p", {}, `${sentence(of.who(Number(player))).slice(0, -1)} lost ${guessed ? "≈ " : ""}${total.toFixed(2)} against best play${how}.`);
  });
  const worst = known.filter((each) => each.grade).sort((a, b) => b.regret - a.regret).slice(0, 3);
  const [graphed, mark] = graph(found.decisions, of);
  return [[...lines,
    worst.length ? el("p", {}, "The costliest: ", ...worst.flatMap((each, k) => [k ? ", " : "",
      el("button", { type: "button", class: "plain", onclick: () => of.look(each.ply) }, `${of.spoken(each.played)} at ply ${each.ply + 1} (${about(each)}${signed(-each.regret)})`)])) : "",
    ...graphed,
    el("p", { class: "note" }, `In units of reward. Of ${known.length} decisions ${judges.join(" and ")}.${unproved ? ` Of ${unproved} more nothing is proved.` : ""} ${scale(found.limits)}`)], mark];
}

/** The expected rewards by ply, as elements: of two players as one line, of more a line for each; and what marks a ply. */
function graph(decisions, of) {
  const known = decisions.filter((each) => each.value !== null);
  if (!known.length) return [[], () => {}];
  const two = of.names.length === 2;
  const players = two ? [known.some((each) => each.player === of.you) ? of.you : known[0].player] : [...new Set(known.map((each) => each.player))];
  const lines = players.map((player) => {
    const points = known.filter((each) => two || each.player === player).map((each) => ({
      ...each, value: each.player === player ? each.value : -each.value, said: `ply ${each.ply + 1}: ${of.spoken(each.played)}, ${about(each)}${signed(-each.regret)} ${each.grade}`,
    }));
    return [...points, { ply: of.plies, value: of.rewards[player], source: points.at(-1)?.source }];
  });
  const most = two ? 1 : Math.max(...lines.flat().map((each) => Math.abs(each.value)), 0.1);
  const [element, mark] = chart(lines, of.plies, most, of.look);
  const whose = players.map((player) => of.names[player]).join(" and ");
  return [[element, el("p", { class: "note" }, `The expected reward of ${whose} under best play from each decision on, up to the result; faint where a search estimates it. Dots mark inaccuracies, mistakes and blunders; a click leads there.`)], mark];
}
