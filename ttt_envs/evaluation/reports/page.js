"use strict";
// Steps through the sample games: a picture is a list of numbers of the parts that all pictures share.
const source = document.getElementById("games");
const { parts, games } = source ? JSON.parse(source.textContent) : { parts: [], games: [] };

for (const figure of document.querySelectorAll("figure.game")) {
  const { pictures, captions } = games[Number(figure.dataset.game)];
  const board = figure.querySelector(".board");
  const caption = figure.querySelector(".caption");
  const slider = figure.querySelector("input");
  const buttons = Object.fromEntries([...figure.querySelectorAll("button")].map((each) => [each.dataset.to, each]));
  const last = pictures.length - 1;
  let at = 0;

  const show = (to) => {
    at = Math.min(Math.max(to, 0), last);
    board.innerHTML = pictures[at].map((number) => parts[number]).join("") + "</svg>";
    board.setAttribute("aria-label", captions[at]);
    caption.textContent = captions[at];
    slider.value = String(at);
    buttons.first.disabled = buttons.back.disabled = at === 0;
    buttons.next.disabled = buttons.last.disabled = at === last;
  };

  const steps = { first: () => 0, back: () => at - 1, next: () => at + 1, last: () => last };
  for (const [to, button] of Object.entries(buttons)) {
    button.addEventListener("click", () => show(steps[to]()));
  }
  slider.addEventListener("input", () => show(Number(slider.value)));
  const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "next", End: "last" };
  figure.addEventListener("keydown", (event) => {
    if (event.key in keys && event.target !== slider) {
      event.preventDefault();
      show(steps[keys[event.key]]());
    }
  });
  show(0);
}
