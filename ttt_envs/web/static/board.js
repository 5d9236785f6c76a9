// The board: the server's picture, and on it a button for each spot that can be clicked.

import { el, percent, picture, signed } from "./tools.js";

// A spot is about so many pixels wide and high, for fingers, or as large; the picture grows so many times at most for that.
const FINGER = 44;
const MOST = 1.35;

const NO_MARKS = () => new Map();

export class Board {
  /** `choose(action)` is called with the name of the action whose spots have been clicked. */
  constructor(choose) {
    this.choose = choose;
    this.picture = el("img", { alt: "", draggable: "false" });
    this.layer = el("div", { class: "spots", role: "group", "aria-label": "What you can click" });
    this.inner = el("div", { class: "board-inner" }, this.picture, this.layer);
    this.about = el("div");
    this.inner.insertBefore(this.about, this.layer);
    this.told = el("p", { class: "told", "aria-live": "polite" });
    this.element = el("div", { class: "board" }, this.inner);
    this.tips = [];
    this.layer.addEventListener("keydown", (event) => this.steer(event));
    new ResizeObserver(() => {
      if (this.spots && this.element.clientWidth !== this.room) this.enlarge(); // a phone was turned
    }).observe(this.element);
    this.actions = [];
    this.path = []; // the spots clicked so far, in any order
    this.marksAfter = NO_MARKS;
    this.hint = [];
    this.returnTo = null; // the spot that had the focus before the board was waiting
  }

  /** Show a position, with the actions that may be chosen in it: each has a name and the spots to click. */
  show(position, actions, spots) {
    const [x, y, width, height] = viewBox(position.svg);
    this.box = { x, y, width, height };
    this.picture.src = picture(position.svg);
    this.picture.alt = titleOf(position.svg) ?? position.caption;
    this.inner.style.aspectRatio = `${width} / ${height}`;
    this.element.style.setProperty("--shape", width / height);
    this.spots = spots;
    this.tips = position.tips ?? [];
    this.tell("");
    this.about.replaceChildren(...this.tips.map(([x1, y1, across, down, said]) => {
      const part = el("span", { class: "tip", ...this.telling(said), onclick: () => this.tell(said) });
      this.place(part, [x1, y1, across, down]);
      return part;
    }));
    this.element.classList.remove("sent");
    this.actions = actions.filter((action) => action.clicks.length);
    this.path = [];
    this.hint = [];
    this.marksAfter = NO_MARKS;
    this.draw();
    this.enlarge();
  }

  /** On a narrow screen, make the picture wider than it so that fingers hit, and bring what is lit into view. */
  enlarge() {
    const lit = [...new Set(this.actions.flatMap((action) => action.clicks))].map((name) => this.spots[name]).filter(Boolean);
    const least = Math.min(...lit.map(([, , width, height]) => Math.sqrt(width * height)));
    const room = this.element.clientWidth;
    this.room = room;
    const wanted = lit.length && room < 480 ? (FINGER * this.box.width) / least : 0;
    this.inner.style.width = wanted > room ? `${Math.min(wanted, MOST * room)}px` : "";
    if (wanted <= room) return;
    const left = Math.min(...lit.map(([x]) => x));
    const right = Math.max(...lit.map(([x, , width]) => x + width));
    this.element.scrollLeft = (((left + right) / 2 - this.box.x) / this.box.width) * this.inner.clientWidth - room / 2;
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
  open(path = this.path) {
    return this.actions.filter((action) => path.every((spot) => action.clicks.includes(spot)));
  }

  draw() {
    const inside = this.layer.contains(document.activeElement);
    const lost = document.activeElement === document.body || document.activeElement === document.getElementById("main");
    const focused = inside ? document.activeElement.dataset.spot : lost ? this.returnTo : null;
    const next = new Set(this.open().flatMap((action) => action.clicks));
    const lit = new Set(this.actions.flatMap((action) => action.clicks));
    const marks = this.marksAfter(this.path);
    const names = new Set([...lit, ...marks.keys(), ...this.hint]);
    this.layer.replaceChildren(...[...names].filter((name) => this.spots[name]).map((name) => {
      const mark = marks.get(name);
      const chosen = this.path.includes(name);
      const said = mark ? `${name}, ${mark.said}` : name;
      const classes = ["spot"];
      if (chosen) classes.push("chosen");
      else if (this.path.length) classes.push(next.has(name) ? "next" : "other");
      if (this.hint.includes(name)) classes.push("hinted");
      const shown = mark ? [el("span", { class: `mark ${mark.kind}${mark.best ? " best" : ""}` }, mark.text)] : [];
      const spot = lit.has(name)
        ? el("button", {
          type: "button", class: classes.join(" "), tabindex: "-1", "data-spot": name,
          "aria-label": said, "aria-pressed": chosen ? "true" : null,
          onclick: () => this.click(name), ...this.telling(this.tipOf(name)),
        }, ...shown)
        : el("span", { class: classes.join(" "), "data-spot": name }, ...shown);
      this.place(spot, this.spots[name]);
      return spot;
    }));
    const buttons = this.buttons();
    const first = buttons.find((each) => each.dataset.spot === focused) ?? buttons[0];
    if (first) first.tabIndex = 0;
    if (focused !== null && first) {
      first.focus();
      this.returnTo = null;
    }
  }

  /** Say below the board what a part of it is. */
  tell(said) {
    this.told.textContent = said;
  }

  /** Listeners of an element that tell so while somebody points at it. */
  telling(said) {
    const [on, off] = [() => this.tell(said), () => this.tell("")];
    return said ? { onpointerenter: on, onfocus: on, onpointerleave: off, onblur: off } : {};
  }

  /** What is said of the place of a spot: of its corner, as a spot may lie over several cards of a kind. */
  tipOf(name) {
    const [across, down] = [this.spots[name][0] + 2, this.spots[name][1] + 2];
    return this.tips.findLast(([left, top, wide, high]) => left <= across && across < left + wide && top <= down && down < top + high)?.[4];
  }

  place(spot, [x, y, width, height]) {
    spot.style.left = `${100 * (x - this.box.x) / this.box.width}%`;
    spot.style.top = `${100 * (y - this.box.y) / this.box.height}%`;
    spot.style.width = `${100 * width / this.box.width}%`;
    spot.style.height = `${100 * height / this.box.height}%`;
  }

  buttons() {
    return [...this.layer.querySelectorAll("button")];
  }

  /** Choose a spot. Any order works, and where one choice is left, it is made. */
  click(name) {
    if (this.path.includes(name)) {
      this.path = this.path.filter((spot) => spot !== name); // a click on what was chosen lets it go
      this.draw();
      return;
    }
    const goesOn = this.open([...this.path, name]).length > 0;
    this.path = goesOn ? [...this.path, name] : [name];
    const left = this.open();
    const found = left.find((action) => action.clicks.length === this.path.length) ?? (goesOn && left.length === 1 ? left[0] : null);
    if (found) {
      this.path = [];
      this.actions = []; // until the server has answered
      this.element.classList.add("sent");
      this.returnTo = this.layer.contains(document.activeElement) ? name : null;
      this.draw();
      this.choose(found.name);
    } else {
      this.draw();
    }
  }

  /** Arrow keys lead to the nearest spot in their direction; Escape lets go of what was chosen. */
  steer(event) {
    if (event.key === "Escape" && this.path.length) {
      this.path = [];
      this.draw();
    }
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
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

/** The size of a picture, in its own units: x, y, width, height. */
function viewBox(svg) {
  const [opening] = svg.match(/<svg[^>]*>/);
  const given = opening.match(/viewBox="([^"]+)"/);
  if (given) return given[1].trim().split(/[\s,]+/).map(Number);
  return [0, 0, ...["width", "height"].map((name) => parseFloat(opening.match(new RegExp(`${name}="([^"]+)"`))[1]))];
}

/** What a picture says of itself. It is read as text: a parser would apply its styles, which the page's policy forbids. */
function titleOf(svg) {
  const found = svg.match(/<title>([^<]*)<\/title>/);
  return found && found[1].replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
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
