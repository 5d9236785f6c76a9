// One game: its board, the seats, what was played, and what may be asked.

import { Board, marksOf } from "./board.js";
import { reviewOf } from "./chart.js";
import { about, ask, complain, el, guarded, keep, patiently, percent, Refusal, rulesOf, say, scale, sentence, signed } from "./tools.js";

// Milliseconds for which the board of an ended round stays.
const ROUND_STAYS = 4000;

export async function gamePage(main, id) {
  const game = new GamePage(main, id);
  await game.begin();
  return () => game.end();
}

class GamePage {
  constructor(main, id) {
    this.main = main;
    this.path = `/api/served/${encodeURIComponent(id)}`;
    this.now = null;
    this.shownPly = null; // null: the present
    this.thoughts = null;
    this.eyes = null; // where two people share the screen: the player who may see the board now
    this.speed = 1000;
  }

  async begin() {
    const first = await ask(this.path);
    this.names = first.about.names; // action -> as people say it, where that differs
    this.build(first);
    this.take(first);
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.roundTimer);
  }

  /** Show what the agents answer, as soon as they have. */
  async wait() {
    if (this.waiting) return;
    this.waiting = true;
    try {
      while (this.now.thinking && !this.ended) this.take(await ask(`${this.path}?after=${this.now.version}`));
    } finally {
      this.waiting = false;
    }
  }

  // --- the parts of the page ---

  build(now) {
    this.board = new Board(guarded((action) => this.play(action)));
    this.status = el("h1", { class: "status" });
    this.doing = el("p", { class: "doing" }); // what the head of the picture says, in the position shown
    this.banner = el("p", { class: "banner", hidden: true });
    this.slider = el("input", { type: "range", min: 0, "aria-label": "ply", oninput: guarded(() => this.look(Number(this.slider.value))) });
    this.plyText = el("span", { class: "ply" });
    this.back = step("◀", "one ply back", guarded(() => this.look(this.ply() - 1)));
    this.forth = step("▶", "one ply on", guarded(() => this.look(this.ply() + 1)));
    this.last = el("p", { class: "last" });
    this.history = el("div", { class: "history" }, this.back, this.slider, this.forth, this.plyText);

    this.takeBack = button("Take back", guarded(() => this.send("take_back")));
    this.takeBack.title = "For practice: what the agents choose and what is rolled stays the same.";
    this.hint = button("Hint", guarded(() => this.showHint()));
    this.again = button("New game", guarded(() => this.startAgain()));
    this.watch = button("Play", guarded(() => this.run()));
    this.one = button("One ply", guarded(() => this.step()));
    this.pace = el("select", { "aria-label": "pace", onchange: () => { this.speed = Number(this.pace.value); } },
      ...[[2500, "slow"], [1000, "medium"], [250, "fast"], [0, "at once"]].map(([ms, name]) => el("option", { value: ms, selected: ms === 1000 }, name)));
    this.overlay = el("input", { type: "checkbox", onchange: guarded(() => this.think()) });
    this.overlayLabel = el("label", { class: "check" }, this.overlay, "Show what the oracle or a search thinks");
    this.curtain = el("div", { class: "curtain", hidden: true });
    this.files = el("div", { class: "buttons files", hidden: true },
      button("Save film", guarded(() => patiently(`${this.path}/film`, this.working, "Drawing the film …", keep))),
      button("Save record", guarded(() => keep(`${this.path}/record`))));
    const buttons = el("div", { class: "buttons" }, this.watch, this.one, this.pace, this.takeBack, this.hint, this.again);

    this.working = el("p", { class: "banner", role: "status", hidden: true });
    this.seats = el("ul", { class: "seats" });
    this.choices = el("div", { class: "names" });
    this.namesBox = el("details", {}, el("summary", {}, "Choose by name"), this.choices);
    this.thoughtsBox = el("div", { class: "thoughts", hidden: true });
    this.review = el("div", { class: "review", hidden: true });
    this.log = el("ol", { class: "log", start: 1 });
    this.text = el("pre");
    this.main.replaceChildren(el("div", { class: "play" },
      el("section", { class: "left", "aria-label": "Board" },
        el("div", { class: "head" }, this.status, this.working, this.banner), this.doing, this.curtain, this.board.element, this.last, this.history, this.board.told),
      el("section", { class: "right", "aria-label": "Game" },
        el("h2", { class: "title" }, [now.game.title, now.about.options].filter(Boolean).join(", ")),
        this.pitch = el("p", { class: "note" }, now.about.pitch),
        this.seats, buttons, this.files, this.overlayLabel, this.thoughtsBox, this.namesBox, this.review,
        this.logBox = el("details", { open: true }, el("summary", {}, "Moves"), this.log),
        this.textBox = el("details", {}, el("summary", {}, "The position as text"), this.text),
        rulesOf(now.game.id, now.about.rules))));
  }

  // --- what is new ---

  /** Show a game as the server sends it. */
  take(now) {
    const before = this.now;
    if (this.ended || (before && now.version < before.version)) return;
    this.now = now;
    if (before && before.version === now.version && this.drawn) return;
    const rounds = before ? now.rounds.filter((ply) => ply > before.ply) : [];
    if (before && now.ply > before.ply) say(this.told(before.ply));
    if (before && now.ply < before.ply) say("Taken back.");
    if (now.ply < (this.shownPly ?? 0)) this.shownPly = null;
    if (!before || before.ply !== now.ply || before.chosen !== now.chosen) this.thoughts = null;
    if (rounds.length && this.shownPly === null) guarded(() => this.showRound(rounds.at(-1)))();
    else if (!this.roundShown) this.draw();
    if (now.trouble && !(before && before.trouble)) complain(sentence(now.trouble));
    if (now.over && !(before && before.over)) guarded(() => this.judge())();
    if (now.thinking) guarded(() => this.wait())();
  }

  /** What was played since `ply`, as a sentence. */
  told(ply) {
    const played = this.now.moves.slice(ply).map((moves) => moves.map(([who, name]) => `${this.who(who)}: ${this.spoken(name)}`).join(", "));
    return [...played, this.headline()].join(". ");
  }

  /** An action as people say it. */
  spoken(name) {
    return this.names[name] ?? name;
  }

  who(player) {
    const { seats } = this.now;
    if (!seats[player].yours) return seats[player].name;
    return seats.filter((each) => each.yours).length > 1 ? `${seats[player].name} (you)` : "you";
  }

  headline() {
    const { now } = this;
    const held = now.seats.filter((seat) => seat.yours).length;
    if (now.over) {
      const { winners, how, whole } = now.result;
      if (!winners.length || held !== 1) return sentence(whole);
      return sentence(`${winners.some((player) => now.seats[player].yours) ? "You win" : "You lose"}: ${how}`);
    }
    if (now.trouble) return sentence(now.trouble);
    const asked = now.seats.map((seat, player) => ({ ...seat, player })).filter((seat) => seat.asked);
    if (this.covered()) return `It is the turn of ${now.seats[now.you].name}`;
    if (asked.some((seat) => seat.player === now.you)) return held > 1 ? `Your turn, ${now.seats[now.you].name}` : "Your turn";
    const names = asked.map((seat) => seat.name).join(" and ");
    if (now.chosen !== null) return `You chose ${this.spoken(now.chosen)}. Waiting for ${names}`;
    return now.watching ? `${sentence(names).slice(0, -1)} to move` : `Waiting for ${names}`;
  }

  ply() {
    return this.shownPly ?? this.now.ply;
  }

  /** True while another person at this screen must not see what the page would show. */
  covered() {
    return this.now.shared && !this.now.over && this.eyes !== this.now.you;
  }

  /** What hides the board until the person whose turn it is says so. */
  drawCurtain() {
    const { you, seats } = this.now;
    const lift = button(`I am ${seats[you].name}`, () => {
      this.eyes = you;
      this.shownPly = null;
      this.draw();
    });
    lift.classList.add("main");
    this.curtain.replaceChildren(el("p", {}, `Only ${seats[you].name} may see the board now.`), lift);
  }

  draw() {
    const { now } = this;
    this.drawn = true;
    const present = this.shownPly === null;
    const covered = this.covered();
    this.roundShown = false;
    this.banner.hidden = true;
    this.status.textContent = this.headline();
    const turn = now.actions.length > 0 && !covered;
    show(this.pitch, now.ply === 0);
    show(this.logBox, now.ply > 0);
    show(this.doing, !covered && !(present && now.over));
    show(this.curtain, covered);
    for (const each of [this.board.element, this.board.told, this.last, this.history, this.textBox]) show(each, !covered);
    if (covered) {
      this.drawCurtain();
      this.thoughtsBox.hidden = true;
    }
    this.status.dataset.state = now.over ? "over" : turn ? "turn" : now.trouble ? "trouble" : "waiting";
    document.title = `${turn ? "● Your turn – " : ""}${now.game.title}`;
    if (present && !covered) {
      this.doing.replaceChildren(...inWords(now.head));
      this.board.show(now, now.actions, now.spots);
      this.text.textContent = now.text;
    }
    this.slider.max = now.ply;
    this.slider.value = this.ply();
    this.slider.setAttribute("aria-valuetext", this.moveText(this.ply()));
    this.last.textContent = this.lastText(this.ply());
    this.plyText.textContent = `ply ${this.ply()} of ${now.ply}`;
    this.back.disabled = this.ply() === 0;
    this.forth.disabled = this.ply() >= now.ply;
    show(this.takeBack, now.may_take_back);
    show(this.hint, turn);
    show(this.files, now.over);
    show(this.again, now.over || now.ply > 0);
    for (const each of [this.watch, this.pace]) show(each, now.watching);
    show(this.one, now.watching && !now.over);
    this.overlayLabel.hidden = covered;
    this.drawSeats();
    this.drawNames();
    this.drawLog();
    this.markPly?.(this.ply());
    if (this.overlay.checked && !covered) guarded(() => this.think())();
  }

  drawSeats() {
    const { now } = this;
    this.seats.replaceChildren(...now.seats.map((seat, player) => {
      const name = seat.yours ? "you" : seat.title;
      const doing = now.over ? (now.result.winners.includes(player) ? "won" : "") : seat.chosen ? "has chosen" : seat.asked ? "to move" : "";
      return el("li", { class: seat.asked ? "asked" : "" },
        el("b", {}, seat.name), ` ${name}`, doing && el("em", {}, doing),
        now.over && el("span", { class: "reward" }, signed(now.result.rewards[player], 2)));
    }));
  }

  /** A button for each action, for those who would rather read, and for games without a picture that can be clicked. */
  drawNames() {
    const { actions } = this.now;
    const open = this.shownPly === null && !this.covered();
    show(this.namesBox, actions.length > 0 && open);
    if (actions.length && actions.every((action) => !action.clicks.length)) this.namesBox.open = true;
    this.choices.replaceChildren(...(open ? actions : []).map((action) => button(this.spoken(action.name), guarded(() => this.play(action.name)))));
  }

  moveText(ply) {
    if (!ply) return "start";
    return this.now.moves[ply - 1].map(([player, name]) => `${this.who(player)}: ${this.spoken(name)}`).join(", ");
  }

  /** What led to the position after `ply` plies, as a sentence. */
  lastText(ply) {
    if (!ply) return "";
    const chosen = this.now.moves[ply - 1].map(([player, name]) => `${this.who(player)} chose: ${this.spoken(name)}`);
    const aside = this.now.asides[ply - 1];
    return sentence(`${chosen.join("; ")}${aside ? ` (${aside})` : ""}`);
  }

  drawLog() {
    const { now } = this;
    const shown = this.ply();
    this.log.replaceChildren(...now.moves.map((_, k) => {
      const judged = (this.judged?.decisions ?? []).filter((each) => each.ply === k && each.grade);
      const round = now.rounds.length && (k === 0 ? 1 : now.rounds.indexOf(k) + 2);
      return el("li", { class: k + 1 === shown ? "here" : "" }, (k === 0 || round > 1) && round > 0 && el("b", { class: "round" }, `Round ${round}`),
        el("button", { type: "button", class: "plain", "aria-current": k + 1 === shown ? "step" : null, onclick: guarded(() => this.look(k + 1)) }, this.moveText(k + 1)),
        now.asides[k] && el("span", { class: "aside" }, now.asides[k]),
        ...judged.map((each) => el("span", { class: `lost ${each.grade}` }, `${each.grade}, ${about(each)}${signed(-each.regret)}${each.best && each.best !== each.played ? `, best: ${this.spoken(each.best)}` : ""}`)));
    }));
    this.log.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  }

  // --- what the person does ---

  /** Do something, and show the game after it. */
  async send(what, body = {}) {
    this.take(await ask(`${this.path}/${what}`, body));
  }

  async play(action) {
    const { now } = this;
    this.status.dataset.state = "sent";
    try {
      await this.send("move", { player: now.you, ply: now.ply, action });
    } catch (error) {
      this.draw(); // the board is as it was
      throw error;
    }
  }

  /** Look at the position after `ply` plies. */
  async look(ply) {
    clearTimeout(this.roundTimer);
    if (ply < 0 || ply > this.now.ply || this.covered()) return;
    const forth = ply === this.ply() + 1;
    this.shownPly = ply === this.now.ply ? null : ply;
    if (this.shownPly === null) {
      this.draw();
      return;
    }
    const found = await ask(`${this.path}/positions/${ply}`);
    if (this.shownPly !== ply) return; // another one was asked for meanwhile
    const then = () => {
      this.board.show(found, [], {});
      this.doing.replaceChildren(...inWords(found.head));
      this.text.textContent = found.text;
      this.thoughts = null;
      this.draw();
    };
    if (!forth || !found.ended_round) {
      then();
      return;
    }
    this.draw(); // the slider and the log first
    this.showEnded(found, then);
  }

  /** The board of a round that has just ended, before the next one. */
  async showRound(ply) {
    this.roundShown = true;
    const found = await ask(`${this.path}/positions/${ply}`);
    if (found.ended_round) this.showEnded(found, () => this.draw());
    else this.draw();
  }

  /** The board of the round that ended with a ply, and `then` what follows. */
  showEnded({ ply, ended_round: ended }, then) {
    this.roundShown = true;
    this.board.element.hidden = false;
    this.curtain.hidden = true;
    this.board.show(ended, [], {});
    this.doing.replaceChildren(...inWords(ended.head));
    this.status.textContent = sentence(`The round is over: ${ended.how}`);
    const go = () => {
      clearTimeout(this.roundTimer);
      if (this.roundShown) then();
    };
    this.banner.replaceChildren(`${sentence(this.moveText(ply))} `, button(this.now.over ? "Go on" : "Next round", go));
    this.banner.hidden = false;
    this.roundTimer = setTimeout(go, ROUND_STAYS);
  }

  async startAgain() {
    this.again.disabled = true; // for the second of two quick clicks
    try {
      const { id } = await ask(`${this.path}/again`, {});
      location.hash = `#/g/${id}`;
    } finally {
      this.again.disabled = false;
    }
  }

  // --- agents among themselves ---

  async step() {
    this.shownPly = null;
    await this.send("step");
  }

  async run() {
    this.running = !this.running;
    this.watch.textContent = this.running ? "Pause" : "Play";
    if (this.running && this.now.over && this.shownPly === null) await this.look(0); // from the start again
    while (this.running && !(this.now.over && this.shownPly === null) && !this.ended && !this.now.trouble) {
      const began = performance.now();
      try {
        await (this.now.over ? this.look(this.ply() + 1) : this.step());
      } catch (error) {
        this.running = false;
        this.watch.textContent = "Play";
        throw error;
      }
      const left = this.speed - (performance.now() - began);
      await new Promise((done) => { this.timer = setTimeout(done, Math.max(left, 0)); });
    }
    this.running = false;
    this.watch.textContent = "Play";
  }

  // --- what others think ---

  async fetchThoughts() {
    const ply = this.ply();
    if (this.thoughts?.ply !== ply) {
      this.thoughtsBox.hidden = true;
      const found = await patiently(`${this.path}/thoughts/${ply}`, this.working, "Thinking about this position …");
      if (found === null) this.overlay.checked = false;
      if (found === null || this.ply() !== ply) return null;
      this.thoughts = found;
    }
    return this.thoughts;
  }

  async think() {
    if (!this.overlay.checked) {
      this.thoughtsBox.hidden = true;
      this.board.mark(() => new Map(), {});
      return;
    }
    const found = await this.fetchThoughts();
    if (!found || !this.overlay.checked || this.roundShown) return;
    this.thoughtsBox.hidden = false;
    this.thoughtsBox.replaceChildren(...(found.thoughts.length ? found.thoughts.map((each) => this.thought(each))
      : [el("p", { class: "note" }, "Shown when it is your turn.")]));
    const shown = found.thoughts.find((each) => each.player === this.now.you) ?? found.thoughts[0];
    if (shown) this.board.mark((path) => marksOf(shown, found.actions, path), found.spots);
  }

  thought(each) {
    const names = [...new Set([...each.best, ...Object.keys(each.values), ...each.unproved, ...Object.keys(each.probabilities)])]
      .sort((a, b) => (each.losses[a] ?? 9) - (each.losses[b] ?? 9) || each.best.includes(b) - each.best.includes(a));
    const mixed = Object.keys(each.best_probabilities).length > 0;
    const decided = each.agent !== null && Object.keys(each.probabilities).length > 0;
    const head = ["action", "value", "loss", ...(mixed ? ["best play"] : []), ...(decided ? ["the agent"] : [])];
    const rows = names.slice(0, 12).map((name) => el("tr", { class: each.best.includes(name) ? "best" : each.unproved.includes(name) ? "unproved" : "" },
      el("th", { scope: "row" }, this.spoken(name)), el("td", {}, name in each.values ? `${about(each)}${signed(each.values[name])}` : each.unproved.includes(name) ? "not proved" : "–"),
      el("td", { class: name in each.losses ? `loss ${each.grades[name] || "good"}` : "" }, name in each.losses ? `${about(each)}${signed(-each.losses[name])} ${each.grades[name]}` : "–"),
      mixed && el("td", {}, percent(each.best_probabilities[name])), decided && el("td", {}, percent(each.probabilities[name]))));
    const whose = `for ${this.now.seats[each.player].name}`;
    if (!each.source) {
      return el("p", { class: "note" }, names.length === 1 ? `There is one choice ${whose}: ${this.spoken(names[0])}.` : `Nobody knows what is best here ${whose}.`);
    }
    const source = each.source === "oracle" ? `Best play ${whose}, by the oracle` : `An estimate ${whose}, by ${each.title}`;
    return el("div", {}, el("p", {}, el("b", {}, `${source}.`)),
      el("div", { class: "scroll" }, el("table", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name))), ...rows)),
      names.length > rows.length && el("p", { class: "note" }, `and ${names.length - rows.length} more`),
      el("p", { class: "note" }, `Values are expected rewards, from −1 to +1. ${scale(this.thoughts.limits)}`));
  }

  async showHint() {
    const found = await this.fetchThoughts();
    const best = found?.thoughts[0]?.best[0];
    if (!best) {
      complain("Nobody knows what is best here.");
      return;
    }
    const action = this.now.actions.find((each) => each.name === best);
    if (action?.clicks.length) this.board.point(action.clicks);
    const { source } = found.thoughts[0];
    this.banner.replaceChildren(`${source ? `Hint, by ${source === "oracle" ? "the oracle" : "a search"}` : "There is one choice"}: ${this.spoken(best)}`);
    this.banner.hidden = false;
    say(this.banner.textContent);
  }

  /** What the moves have lost, at the end. */
  async judge() {
    const found = await patiently(`${this.path}/review`, this.working, "Working out what each move has lost …");
    if (found === null) return;
    this.review.hidden = false;
    this.judged = found;
    const [parts, mark] = reviewOf(found, {
      names: this.now.seats.map((seat) => seat.name), who: (player) => this.who(player), spoken: (name) => this.spoken(name),
      you: this.now.you, plies: this.now.ply, rewards: this.now.result.rewards, look: guarded((ply) => this.look(ply)),
    });
    this.markPly = mark;
    mark(this.ply());
    this.review.replaceChildren(el("h2", {}, `What ${this.now.watching ? "the" : "your"} moves have lost`), ...parts);
    this.drawLog();
  }
}

/** What the head of a picture says, "whose turn; what to do", as elements. */
function inWords(head) {
  const [turn, ...rest] = head.split("; ");
  return head ? [el("b", {}, turn), rest.length ? ` – ${rest.join("; ")}` : ""] : [];
}

function show(element, wanted) {
  element.hidden = !wanted;
}

function button(text, onclick) {
  return el("button", { type: "button", onclick }, text);
}

function step(text, label, onclick) {
  return el("button", { type: "button", class: "step", "aria-label": label, onclick }, text);
}
