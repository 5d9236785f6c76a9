// One game: its board, the seats, what was played, and what may be asked.

import { Board, marksOf } from "./board.js";
import { reviewOf } from "./chart.js";
import { about, ask, begin, button, complain, el, keep, patiently, percent, rulesOf, say, scale, sentence, signed, table } from "./tools.js";

// Milliseconds for which each position is shown while agents play.
const PACES = { slow: 2500, medium: 1000, fast: 250, "at once": 0 };

// Actions in a table of what they lose.
const MOST_ROWS = 12;

// Actions that a hint names where optimal play is mixed.
const MOST_HINTS = 4;

export async function gamePage(main, id) {
  const game = new GamePage(`/api/served/${encodeURIComponent(id)}`);
  const now = await ask(game.path);
  game.build(main, now);
  await game.take(now);
  return () => { game.left = true; };
}

class GamePage {
  constructor(path) {
    this.path = path;
    this.now = null; // the game as the server has sent it last
    this.past = null; // an earlier position that is shown instead
    this.ended = null; // the board of a round that has just ended, shown before what follows it
    this.thoughts = null;
    this.turn = null; // whose choice in which position the board offers
    this.eyes = null; // where two people share the screen: the player who may see the board now
  }

  build(main, now) {
    this.names = now.about.names; // action -> as people say it, where that differs
    this.board = new Board((action) => this.play(action));
    this.status = el("h1", { class: "status" });
    this.working = el("p", { class: "banner", role: "status", hidden: true });
    this.banner = el("p", { class: "banner", hidden: true });
    this.doing = el("p", { class: "doing" }); // what the head of the picture says
    this.curtain = el("div", { class: "curtain", hidden: true });
    this.last = el("p", { class: "last" });
    this.slider = el("input", { type: "range", min: 0, "aria-label": "ply", oninput: () => this.look(Number(this.slider.value)) });
    this.back = button("◀", () => this.look(this.ply() - 1), { class: "step", "aria-label": "one ply back" });
    this.forth = button("▶", () => this.forward(), { class: "step", "aria-label": "one ply on" });
    this.plyText = el("span", { class: "ply" });
    this.history = el("div", { class: "history" }, this.back, this.slider, this.forth, this.plyText);

    this.seats = el("ul", { class: "seats" });
    this.watch = button("Play", () => this.run());
    this.pace = el("select", { "aria-label": "pace" }, ...Object.keys(PACES).map((name) => el("option", { selected: name === "medium" }, name)));
    this.takeBack = button("Take back", () => this.send("take_back"), { title: "For practice: what the agents choose and what is rolled stays the same." });
    this.hint = button("Hint", () => this.showHint());
    this.again = button("New game", () => begin(this.working, `${this.path}/again`, {}));
    const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.files = el("div", { class: "buttons files" },
      button("Save film", () => patiently(this.working, "Drawing the film.", `${this.path}/film?theme=${theme}`, undefined, keep)),
      button("Save record", () => keep(`${this.path}/record`)));
    this.overlay = el("input", { type: "checkbox", onchange: () => this.draw() });
    this.overlayLabel = el("label", { class: "check" }, this.overlay, "Show what the oracle or a search thinks");
    this.thoughtsBox = el("div", { class: "thoughts", hidden: true });
    this.choices = el("div", { class: "buttons names" });
    this.namesBox = el("details", {}, el("summary", {}, "Choose by name"), this.choices);
    this.review = el("div", { class: "review", hidden: true });
    this.log = el("ol", { class: "log" });
    this.logBox = el("details", { open: true }, el("summary", {}, "Moves"), this.log);
    this.text = el("pre");
    this.textBox = el("details", {}, el("summary", {}, "The position as text"), this.text);
    this.pitch = el("p", { class: "note" }, now.about.pitch);
    main.replaceChildren(el("div", { class: "play" },
      el("section", { "aria-label": "Board" },
        el("div", { class: "head" }, this.status), this.doing, this.curtain, this.board.element, this.working, this.banner, this.last, this.history, this.board.told),
      el("section", { "aria-label": "Game" },
        el("h2", {}, [now.game.title, now.about.options].filter(Boolean).join(", ")), this.pitch, this.seats,
        el("div", { class: "buttons" }, this.watch, this.pace, this.takeBack, this.hint, this.again), this.files,
        this.overlayLabel, this.thoughtsBox, this.namesBox, this.review, this.logBox, this.textBox, rulesOf(now.game.id, now.about.rules))));
  }

  // --- what is new ---

  /** Show a game as the server sends it. */
  async take(now) {
    const before = this.now;
    if (this.left || (before && now.version <= before.version)) return;
    this.now = now;
    if (before && now.ply > before.ply) say(this.told(before.ply));
    if (before && now.ply < before.ply) say("Taken back.");
    if (!before || before.ply !== now.ply || before.chosen !== now.chosen) this.thoughts = null;
    if (this.past && this.past.ply >= now.ply) this.past = null;
    const round = before && !this.past && now.rounds.findLast((ply) => ply > before.ply);
    if (round) this.ended = (await ask(`${this.path}/positions/${round}`)).ended_round;
    else if (now.watching || (before && now.ply < before.ply)) this.ended = null;
    this.draw();
    if (now.trouble && !before?.trouble) complain(sentence(now.trouble));
    if (now.over && !before?.over) this.judge();
    if (now.thinking) this.wait();
  }

  /** Show what the agents answer, as soon as they have. */
  async wait() {
    if (this.waiting) return;
    this.waiting = true;
    try {
      while (this.now.thinking && !this.left) await this.take(await ask(`${this.path}?after=${this.now.version}`));
    } finally {
      this.waiting = false;
    }
  }

  /** What was played since `ply`, as sentences. */
  told(ply) {
    return [...this.now.moves.slice(ply).map((_, k) => this.moveText(ply + k + 1)), this.headline()].join(". ");
  }

  /** An action as people say it. */
  spoken(name) {
    return this.names[name] ?? name;
  }

  moveText(ply) {
    if (!ply) return "start";
    return this.now.moves[ply - 1].map(([player, name]) => `${this.now.seats[player].name}: ${this.spoken(name)}`).join(", ");
  }

  headline() {
    const { now } = this;
    if (now.over) return sentence(now.result.whole);
    if (now.trouble) return sentence(now.trouble);
    const you = now.seats[now.you]?.name;
    if (this.covered()) return `It is the turn of ${you}`;
    if (now.actions.length) return you === "You" ? "Your turn" : `Your turn, ${you}`;
    const names = now.seats.filter((seat) => seat.asked).map((seat) => seat.name).join(" and ");
    if (now.chosen !== null) return `You chose: ${this.spoken(now.chosen)}. Waiting for ${names}`;
    return now.watching ? `${names} to move` : `Waiting for ${names}`;
  }

  ply() {
    return this.past?.ply ?? this.now.ply;
  }

  /** True while another person at this screen must not see what the page would show. */
  covered() {
    return this.now.shared && !this.now.over && this.eyes !== this.now.you;
  }

  /** What hides the board until the person whose turn it is says so. */
  drawCurtain() {
    const { you, seats } = this.now;
    this.curtain.replaceChildren(el("p", {}, `Only ${seats[you].name} may see the board now.`), button(`I am ${seats[you].name}`, () => {
      this.eyes = you;
      this.past = null;
      this.draw();
    }, { class: "main" }));
  }

  draw() {
    const { now, past, ended } = this;
    const covered = this.covered() && !ended;
    const shown = ended ?? past ?? now;
    const actions = shown === now && !covered ? now.actions : [];
    this.status.textContent = ended ? sentence(`The round is over: ${ended.how}`) : this.headline();
    this.status.dataset.state = now.over ? "over" : now.trouble ? "trouble" : now.actions.length && !covered ? "turn" : "waiting";
    document.title = `${this.status.dataset.state === "turn" ? "● Your turn – " : ""}${now.game.title}`;
    this.banner.hidden = !ended;
    this.banner.replaceChildren(button(now.over ? "Go on" : "Next round", () => {
      this.ended = null;
      this.draw();
    }));
    show(this.curtain, covered);
    for (const each of [this.board.element, this.board.told, this.last, this.history, this.textBox, this.overlayLabel]) show(each, !covered);
    show(this.doing, !covered && !(shown === now && now.over));
    show(this.pitch, now.ply === 0);
    show(this.logBox, now.ply > 0);
    show(this.takeBack, now.may_take_back);
    show(this.hint, actions.length > 0);
    show(this.files, now.over);
    show(this.again, now.over || now.ply > 0);
    for (const each of [this.watch, this.pace]) show(each, now.watching);
    if (covered) {
      this.drawCurtain();
    } else {
      this.doing.textContent = shown.head && sentence(shown.head);
      const turn = actions.length ? `${now.ply} ${now.you}` : null;
      this.board.show(shown, actions, now.spots, turn !== null && turn === this.turn);
      this.turn = turn;
      this.text.textContent = shown.text;
    }
    this.drawHistory();
    this.drawSeats();
    this.drawNames(actions);
    this.drawLog();
    this.think();
  }

  drawHistory() {
    const { now } = this;
    const ply = this.ply();
    const text = this.moveText(ply);
    const aside = now.asides[ply - 1];
    this.slider.max = now.ply;
    this.slider.value = ply;
    this.slider.setAttribute("aria-valuetext", text);
    this.last.textContent = ply ? sentence(text + (aside ? ` (${aside})` : "")) : "";
    this.plyText.textContent = `move ${ply} of ${now.ply}`;
    this.back.disabled = ply === 0;
    this.forth.disabled = !this.past && (now.over || !now.watching);
    this.markPly?.(ply);
  }

  drawSeats() {
    const { now } = this;
    this.seats.replaceChildren(...now.seats.map((seat, player) => {
      const doing = now.over ? (now.result.winners.includes(player) ? "won" : "") : seat.chosen ? "has chosen" : seat.asked ? "to move" : "";
      return el("li", { class: seat.asked ? "asked" : "" },
        el("b", {}, seat.name), " ", el("small", {}, [seat.mark, seat.about].filter((each) => each && each !== seat.name).join(" · ")), doing && el("em", {}, doing),
        now.over && el("span", { class: "reward" }, signed(now.result.rewards[player])));
    }));
  }

  /** A button for each action, for those who would rather read, and for games without a picture that can be clicked. */
  drawNames(actions) {
    show(this.namesBox, actions.length > 0);
    if (actions.length && !this.board.actions.length) this.namesBox.open = true;
    this.choices.replaceChildren(...actions.map(({ name }) => button(this.spoken(name), () => this.board.send(name))));
  }

  drawLog() {
    const { now } = this;
    const shown = this.ply();
    this.log.replaceChildren(...now.moves.map((_, k) => {
      const judged = (this.judged ?? []).filter((each) => each.ply === k && each.grade);
      const round = now.rounds.length && (k === 0 ? 1 : now.rounds.indexOf(k) + 2);
      return el("li", { class: k + 1 === shown ? "here" : "" }, (k === 0 || round > 1) && round > 0 && el("b", { class: "round" }, `Round ${round}`),
        button(this.moveText(k + 1), () => this.look(k + 1), { class: "plain", "aria-current": k + 1 === shown ? "step" : null }),
        now.asides[k] && el("small", {}, now.asides[k]),
        ...judged.map((each) => el("small", { class: "lost" }, `${each.grade}, ${about(each)}${signed(-each.regret)}${each.best && each.best !== each.played ? `, best: ${this.spoken(each.best)}` : ""}`)));
    }));
    this.log.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  }

  // --- what the person does ---

  /** Do something, and show the game after it. */
  async send(what, body = {}) {
    await this.take(await ask(`${this.path}/${what}`, body));
  }

  async play(action) {
    const { now } = this;
    this.status.dataset.state = "waiting";
    try {
      await this.send("move", { player: now.you, ply: now.ply, action });
    } catch (error) {
      this.turn = null; // the board is as it was, and open again
      this.draw();
      throw error;
    }
  }

  /** Look at the position after `ply` plies; on the way forth also at the board of a round that this ply has ended. */
  async look(ply) {
    if (ply < 0 || ply > this.now.ply || this.covered()) return;
    const forth = ply === this.ply() + 1;
    this.wanted = ply;
    const found = await ask(`${this.path}/positions/${ply}`);
    if (this.wanted !== ply) return; // another one was asked for meanwhile
    this.past = ply < this.now.ply ? found : null;
    this.ended = forth ? found.ended_round : null;
    this.draw();
  }

  async forward() {
    await (this.past ? this.look(this.ply() + 1) : this.send("step"));
  }

  /** Let the agents play, or show a game that is over from its start. */
  async run() {
    this.running = !this.running;
    this.watch.textContent = this.running ? "Pause" : "Play";
    try {
      if (this.running && this.now.over && !this.past) await this.look(0);
      while (this.running && (this.past || !this.now.over) && !this.left && !this.now.trouble) {
        await this.forward();
        await new Promise((done) => { setTimeout(done, PACES[this.pace.value]); });
      }
    } finally {
      this.running = false;
      this.watch.textContent = "Play";
    }
  }

  // --- what others think ---

  async fetchThoughts() {
    const ply = this.ply();
    if (this.thoughts?.ply !== ply) {
      this.thoughtsBox.hidden = true;
      const found = await patiently(this.working, "Thinking about this position. The first time, this is compiled, which can take a minute.", `${this.path}/thoughts/${ply}`);
      if (found === null) this.overlay.checked = false;
      if (found === null || this.ply() !== ply) return null;
      this.thoughts = found;
    }
    return this.thoughts;
  }

  /** Show what is thought of the actions, if it is wanted. */
  async think() {
    const wanted = () => this.overlay.checked && !this.covered() && !this.ended;
    const found = wanted() && (await this.fetchThoughts());
    show(this.thoughtsBox, found && wanted());
    if (this.thoughtsBox.hidden) return;
    this.thoughtsBox.replaceChildren(...(found.thoughts.length ? found.thoughts.map((each) => this.thought(each))
      : [el("p", { class: "note" }, this.now.over ? "The game is over." : "Shown when it is your turn.")]));
    const shown = found.thoughts.find((each) => each.player === this.now.you) ?? found.thoughts[0];
    if (shown) this.board.mark((path) => marksOf(shown, found.actions, path), found.spots);
  }

  thought(each) {
    const whose = `for ${this.now.seats[each.player].name.replace("You", "you")}`;
    const names = [...new Set([...each.best, ...Object.keys(each.values), ...each.unproved, ...Object.keys(each.probabilities)])]
      .sort((a, b) => (each.losses[a] ?? 9) - (each.losses[b] ?? 9) || each.best.includes(b) - each.best.includes(a));
    if (!each.source) return el("p", { class: "note" }, names.length === 1 ? `There is one choice ${whose}: ${this.spoken(names[0])}.` : `It is not known what is best here ${whose}.`);
    const mixed = Object.keys(each.best_probabilities).length > 0;
    const decided = Object.keys(each.probabilities).length > 0;
    const head = ["action", "value", "loss", ...(mixed ? ["optimal play"] : []), ...(decided ? ["the agent"] : [])];
    const rows = names.slice(0, MOST_ROWS).map((name) => el("tr", { class: each.best.includes(name) ? "best" : each.unproved.includes(name) ? "unproved" : "" },
      el("th", { scope: "row" }, this.spoken(name)), el("td", {}, name in each.values ? `${about(each)}${signed(each.values[name])}` : each.unproved.includes(name) ? "not proved" : "–"),
      el("td", {}, name in each.losses ? `${about(each)}${signed(-each.losses[name])} ${each.grades[name]}` : "–"),
      mixed && el("td", {}, percent(each.best_probabilities[name])), decided && el("td", {}, percent(each.probabilities[name]))));
    const more = names.length > MOST_ROWS ? `And ${names.length - MOST_ROWS} more. ` : "";
    return el("div", {}, el("p", {}, el("b", {}, each.source === "oracle" ? `Optimal play ${whose}, by the oracle.` : `An estimate ${whose}, by ${each.title}.`)),
      table(head, rows), el("p", { class: "note" }, `${more}Values are expected rewards, from −1 to +1. ${scale(this.thoughts.limits)}`));
  }

  async showHint() {
    const found = await this.fetchThoughts();
    if (!found) return; // it was left
    const [{ best: [best], source, best_probabilities: mixed } = { best: [] }] = found.thoughts;
    if (!best) {
      complain("It is not known what is best here.");
      return;
    }
    const chances = Object.entries(mixed).filter(([, share]) => share >= 0.005).sort(([, a], [, b]) => b - a);
    const random = chances.length > 1;
    const main = random ? chances.slice(0, MOST_HINTS).map(([name]) => name) : [best];
    const words = main.map((name) => this.spoken(name) + (random ? ` ${percent(mixed[name])}` : "")).join(", ");
    this.board.point(this.now.actions.filter(({ name }) => main.includes(name)).flatMap(({ clicks }) => clicks));
    this.banner.textContent = `${source ? `Hint, by ${source === "oracle" ? "the oracle" : "a search"}` : "There is one choice"}${random ? ", choose at random" : ""}: ${words}${chances.length > main.length ? ", …" : ""}`;
    this.banner.hidden = false;
    say(this.banner.textContent);
  }

  /** How good the moves were, at the end. */
  async judge() {
    const found = await patiently(this.working, "Working out what each move has lost.", `${this.path}/review`);
    if (found === null) return;
    const { now } = this;
    const [parts, mark] = reviewOf(found, {
      names: now.seats.map((seat) => seat.name), spoken: (name) => this.spoken(name),
      you: now.you, plies: now.ply, rewards: now.result.rewards, look: (ply) => this.look(ply),
    });
    this.judged = found.decisions;
    this.markPly = mark;
    this.review.replaceChildren(el("h2", {}, `How good ${now.watching ? "the" : "your"} moves were`), ...parts);
    this.review.hidden = false;
    this.drawHistory();
    this.drawLog();
  }
}

function show(element, wanted) {
  element.hidden = !wanted;
}
