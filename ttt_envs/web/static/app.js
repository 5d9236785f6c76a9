// The page: what its address says is shown.

import { gamePage } from "./play.js";
import { recordsPage } from "./replay.js";
import { homePage, setupPage } from "./setup.js";
import { complain, el, Refusal } from "./tools.js";

const PAGES = { g: gamePage, records: recordsPage, new: setupPage };

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
    const left = await (PAGES[page] ?? homePage)(main, ...rest);
    if (mine === shown) leave = left;
    else left?.();
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof URIError)) throw error;
    main.replaceChildren(el("h1", {}, "This cannot be shown"), el("p", {}, error.message), el("p", {}, el("a", { href: "#/" }, "Play a game")));
  }
  main.focus({ preventScroll: true });
}

// What a listener asked for and the server refused.
addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof Refusal)) return;
  event.preventDefault();
  complain(event.reason.message);
});
addEventListener("hashchange", show);
await show();
