// The board: the server's picture, and on it a button for each spot that can be clicked.

import { el, percent, picture, signed } from "./tools.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Board {
  /** `choose(action)` is called with the name of the action whose spots have been clicked. */
  constructor(choose) {
    this.choose = choose;
    this.picture = el("img", { alt: "", draggable: "false" });
    this.motion = el("div");
    this.layer = el("div", { class: "spots", role: "group", tabindex: "-1", "aria-label": "What you can click" });
    const pointed = (event) => this.pointed(event);
    this.inner = el("div", { class: "board-inner", onpointermove: pointed, onclick: pointed, onpointerleave: () => this.tell("") },
      this.picture, this.motion, this.layer);
    this.told = el("p", { class: "told", "aria-live": "polite" });
    this.element = el("div", { class: "board" }, this.inner);
    this.layer.addEventListener("keydown", (event) => this.steer(event));
    this.layer.addEventListener("focusin", (event) => this.focused(event.target.dataset.spot));
  }

  /**
   * Show a position, with the actions that may be chosen in it: each has a name and the spots to click. Where `kept`, the
   * choice is the same as before: the spots clicked so far stay, and an action that was sent is still waited for.
   */
  show(position, actions, spots, kept = false) {
    this.box = position.svg.match(/viewBox="([^"]+)"/)?.[1].trim().split(/[\s,]+/).map(Number) ?? [0, 0, 480, 480];
    const [, , width, height] = this.box;
    this.inner.style.aspectRatio = `${width} / ${height}`;
    this.element.style.setProperty("--shape", width / height);
    this.turnTo(picture(position.svg), position.landed ?? []);
    this.picture.alt = position.head || position.caption;
    this.spots = spots;
    this.tips = position.tips;
    this.tell("");
    this.actions = actions.filter((action) => action.clicks.length);
    if (!kept) {
      this.path = []; // the spots clicked so far, in any order
      this.element.classList.remove("sent");
    }
    this.hint = [];
    this.marksAfter = () => new Map();
    this.draw();
  }

  /** Change the picture: what was there fades, and the places of the last move glow for a moment. */
  turnTo(address, landed) {
    const before = this.picture.src;
    if (before === address) return;
    this.picture.src = address;
    this.motion.replaceChildren(...landed.map((box) => this.place(el("span", { class: "landed" }), box)));
    if (!before) return;
    const faded = el("div", { class: "faded" });
    faded.style.backgroundImage = `url("${before}")`;
    this.motion.prepend(faded);
  }

  /**
   * Show numbers on spots: `marksAfter` gives for the spots clicked so far a map, spot -> {text, said, kind, best}. They may lie where nothing can be clicked.
   */
  mark(marksAfter, spots) {
    this.marksAfter = marksAfter;
    this.spots = { ...this.spots, ...spots };
    this.draw();
  }

  /** Point at the spots of an action. */
  point(clicks) {
    this.path = [];
    this.hint = clicks;
    this.draw();
  }

  /** The actions that all of these spots belong to. */
  open(path) {
    return this.actions.filter((action) => path.every((spot) => action.clicks.includes(spot)));
  }

  draw() {
    const inside = this.layer.contains(document.activeElement);
    const focused = document.activeElement?.dataset.spot;
    const next = new Set(this.open(this.path).flatMap((action) => action.clicks));
    const lit = new Set(this.actions.flatMap((action) => action.clicks));
    const marks = this.marksAfter(this.path);
    const names = new Set([...lit, ...marks.keys(), ...this.hint]);
    this.layer.replaceChildren(...[...names].filter((name) => this.spots[name]).map((name) => {
      const mark = marks.get(name);
      const chosen = this.path.includes(name);
      const state = chosen ? "chosen" : !this.path.length ? "" : next.has(name) ? "next" : "other";
      const attributes = { class: `spot ${state} ${this.hint.includes(name) ? "hinted" : ""}`, "data-spot": name };
      const shown = mark && el("span", { class: `mark ${mark.kind}${mark.best ? " best" : ""}` }, mark.text);
      return this.place(lit.has(name) ? el("button", {
        ...attributes, type: "button", tabindex: "-1", onclick: () => this.click(name),
        "aria-label": mark ? `${name}, ${mark.said}` : name, "aria-pressed": chosen ? "true" : null,
      }, shown) : el("span", attributes, shown), this.spots[name]);
    }));
    const buttons = this.buttons();
    const first = buttons.find((each) => each.dataset.spot === focused) ?? buttons[0];
    if (first) first.tabIndex = 0;
    if (inside) (first ?? this.layer).focus({ preventScroll: true });
  }

  /** Say below the board what a part of it is. */
  tell(said) {
    this.told.textContent = said;
  }

  /** Say what a point of the picture belongs to. */
  tellOf(x, y) {
    const found = this.tips.findLast(([left, top, width, height]) => left <= x && x < left + width && top <= y && y < top + height);
    this.tell(found?.[4] ?? "");
  }

  pointed(event) {
    const [x, y, width, height] = this.box;
    const at = this.inner.getBoundingClientRect();
    this.tellOf(x + (width * (event.clientX - at.left)) / at.width, y + (height * (event.clientY - at.top)) / at.height);
  }

  /** What is said of a spot is said of its corner, as a spot may lie over several cards of a kind. */
  focused(name) {
    if (this.spots[name]) this.tellOf(this.spots[name][0] + 2, this.spots[name][1] + 2);
  }

  place(element, [left, top, across, down]) {
    const [x, y, width, height] = this.box;
    element.style.left = `${(100 * (left - x)) / width}%`;
    element.style.top = `${(100 * (top - y)) / height}%`;
    element.style.width = `${(100 * across) / width}%`;
    element.style.height = `${(100 * down) / height}%`;
    return element;
  }

  buttons() {
    return [...this.layer.querySelectorAll("button")];
  }

  /** Choose a spot. Any order works, and where one choice is left, it is made. */
  click(name) {
    if (this.sent()) return;
    const again = this.path.includes(name);
    const goesOn = this.open([...this.path, name]).length > 0;
    if (again) this.path = this.path.filter((spot) => spot !== name); // a second click lets it go
    else this.path = goesOn ? [...this.path, name] : [name];
    const left = this.open(this.path);
    const whole = left.find((action) => action.clicks.length === this.path.length) ?? (goesOn && left.length === 1 ? left[0] : null);
    const found = again ? null : whole;
    this.draw();
    if (found) this.send(found.name);
  }

  /** True from the choice of an action until the server has answered. */
  sent() {
    return this.element.classList.contains("sent");
  }

  send(action) {
    if (this.sent()) return;
    this.element.classList.add("sent");
    this.choose(action);
  }

  /** Arrow keys lead to the nearest spot in their direction; Escape lets go of what was chosen. */
  steer(event) {
    if (event.key === "Escape" && this.path.length) {
      this.path = [];
      this.draw();
    }
    const direction = ARROWS[event.key];
    if (!direction) return;
    event.preventDefault();
    const from = middle(document.activeElement);
    let nearest = null;
    let least = Infinity;
    for (const button of this.buttons()) {
      const to = middle(button);
      const along = (to.x - from.x) * direction[0] + (to.y - from.y) * direction[1];
      const across = Math.abs((to.x - from.x) * direction[1]) + Math.abs((to.y - from.y) * direction[0]);
      if (along > 1 && along + 2 * across < least) {
        least = along + 2 * across;
        nearest = button;
      }
    }
    if (!nearest) return;
    for (const button of this.buttons()) button.tabIndex = button === nearest ? 0 : -1;
    nearest.focus();
  }
}

function middle(element) {
  const box = element.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
}

/**
 * Losses for the spots after those of `path` were clicked: on each the least loss of the actions that it belongs to, or "?"
 * where none is proved beside others that are; where nobody knows losses the greatest probability.
 */
export function marksOf(each, actions, path) {
  const known = Object.keys(each.losses).length > 0;
  const about = each.source === "oracle" ? "" : "≈";
  const worth = known ? each.losses : each.probabilities;
  const marks = new Map();
  for (const { name, clicks } of actions) {
    const unproved = each.unproved.includes(name);
    if (!(name in worth || unproved) || !path.every((spot) => clicks.includes(spot))) continue;
    const rank = unproved ? -Infinity : known ? -worth[name] : worth[name];
    const text = unproved ? "?" : known ? about + signed(-worth[name]) : percent(worth[name]);
    const kind = unproved ? "unproved" : `${(known && each.grades[name]) || "good"}${known && !about ? " proved" : ""}`;
    const said = unproved ? "not proved" : known ? `${about && "estimated "}loss ${worth[name].toFixed(2)}` : `probability ${text}`;
    for (const spot of clicks.filter((part) => !path.includes(part))) {
      const before = marks.get(spot);
      if (before && before.rank >= rank) before.best ||= each.best.includes(name);
      else marks.set(spot, { rank, text, kind, best: each.best.includes(name) || Boolean(before?.best), said });
    }
  }
  return marks;
}
