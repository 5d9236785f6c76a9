// The board as a widget of a notebook, see notebook.py: one module, made of this one and of those that it needs.

import { Board, marksOf } from "./board.js";
import { el, sentence } from "./tools.js";

export default {
  render({ model, el: place }) {
    const board = new Board((action) => model.send({ do: "choose", action }));
    const status = el("p", { class: "doing" });
    const said = el("p", { class: "note", "aria-live": "polite" });
    const values = el("input", { type: "checkbox", onchange: () => {
      model.set("values", values.checked);
      model.save_changes();
    } });
    const hint = el("button", { type: "button", onclick: () => model.send({ do: "hint" }) }, "Hint");
    const again = el("button", { type: "button", onclick: () => model.send({ do: "again" }) }, "New game");
    place.classList.add("ttt-envs");
    place.append(el("div", { class: "widget" }, status, board.element, el("div", { class: "buttons" }, hint, again,
      el("label", { class: "check" }, values, "Show what each move loses")), said, board.told));

    const draw = () => {
      const now = model.get("position");
      const { over, thoughts } = now;
      status.textContent = over ? sentence(over.whole) : `You play ${now.you}. ${sentence(now.head || now.caption)}`;
      values.checked = model.get("values");
      hint.hidden = Boolean(over);
      board.show(now, now.actions, now.spots);
      if (thoughts) board.mark((path) => marksOf(thoughts, now.actions, path), {});
      const best = now.actions.find((action) => action.name === now.hint);
      if (best) board.point(best.clicks);
      const last = now.last.map(([player, name]) => `${player}: ${name}`).join(", ");
      const source = thoughts && (thoughts.source === "oracle" ? "Losses against optimal play, by the oracle." : `Losses (≈), by ${thoughts.title}.`);
      said.textContent = [now.trouble, last && `Last: ${last}.`, now.hint && `Hint: ${now.hint}.`, thoughts?.source && source].filter(Boolean).join(" ");
    };
    model.on("change:position", draw);
    draw();
    return () => model.off("change:position", draw);
  },
};
