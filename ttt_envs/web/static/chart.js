// How a game went: the expected reward under best play, by ply, with the moves that lost much of it.

import { drawn, signed } from "./tools.js";

const WIDTH = 640;
const HEIGHT = 160;
const LEFT = 44;
const EDGE = 12;

/**
 * A graph. `lines`: for each line its points {ply, value, grade, said}; `most`: the greatest value of the scale;
 * `look(ply)` is called for a click. Gives the element, and what marks a ply in it.
 */
export function chart(lines, plies, most, look) {
  const x = (ply) => LEFT + (WIDTH - LEFT - EDGE) * (ply / plies);
  const y = (value) => HEIGHT / 2 - (HEIGHT / 2 - EDGE) * (value / most);
  const scale = [most, 0, -most].flatMap((value) => [
    drawn("line", { x1: LEFT, x2: WIDTH - EDGE, y1: y(value), y2: y(value), class: "scale" }),
    drawn("text", { x: LEFT - 8, y: y(value) + 5 }, signed(value, 1)),
  ]);
  const marker = drawn("line", { y1: EDGE, y2: HEIGHT - EDGE, class: "here" });
  const paths = lines.map((points, k) => drawn("polyline", { class: `line line-${k}`, points: points.map((each) => `${x(each.ply)},${y(each.value)}`).join(" ") }));
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
