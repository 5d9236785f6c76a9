// The page: what its address says is shown.

import { gamePage } from "./play.js";
import { recordsPage } from "./replay.js";
import { homePage, setupPage } from "./setup.js";
import { el, Refusal } from "./tools.js";

const main = document.getElementById("main");
let leave = null;
let shown = 0;

async function show() {
  const mine = ++shown;
  leave?.();
  leave = null;
  main.replaceChildren();
  try {
    const [page, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    const left = page === "g" ? await gamePage(main, ...rest) : page === "records" ? await recordsPage(main, ...rest)
      : page === "new" ? await setupPage(main, ...rest) : await homePage(main);
    if (mine === shown) leave = left ?? null;
    else left?.();
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof URIError)) throw error;
    main.replaceChildren(el("h1", {}, "This cannot be shown"), el("p", {}, error.message), el("p", {}, el("a", { href: "#/" }, "Play a game")));
  }
  main.focus({ preventScroll: true });
}

addEventListener("hashchange", show);
await show();
