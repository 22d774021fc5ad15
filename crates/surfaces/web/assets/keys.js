// The keyboard map. Keys are off while something is typed.
// @ts-check
import { all, copy, isTyping, one, open } from "./dom.js";

let before = "";

/** Moves the focus among rows. @param {number} by */
export function row(by) {
  const rows = all(".rows .row a.name, .approval, .maptree [role=treeitem], .entries summary, .hits a.name");
  if (!rows.length) return;
  const active = /** @type {HTMLElement} */ (document.activeElement);
  const at = rows.findIndex((found) => found === active || found.contains(active));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** Moves the focus among messages. @param {number} by */
function message(by) {
  const found = all(".msg:not(.folded)");
  if (!found.length) return;
  const at = found.findIndex((one) => one.contains(document.activeElement));
  const next = found[at < 0 ? (by > 0 ? 0 : found.length - 1) : Math.min(found.length - 1, Math.max(0, at + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

/** @param {string} key */
function within(key) {
  const place = document.activeElement?.closest(".approval, .conflict") ?? one(".approval");
  const found = place && one(`[data-key="${key}"]`, place);
  found?.click();
  return Boolean(found);
}

/** @type {Record<string, () => void>} */
const GO = { t: () => (location.href = "/"), i: () => (location.href = "/inbox"), s: () => (location.href = "/search"), m: () => (location.href = "/memories") };

/** @type {Record<string, () => void>} */
const KEYS = {
  "?": () => open("keys"),
  "/": () => (one("main input[type=search]") ?? one("button.find"))?.focus(),
  n: () => open("new-thread"),
  j: () => row(1),
  k: () => row(-1),
  o: () => {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    if (!within("o")) (active?.closest("a, summary, button") ? active : one("a", active))?.click();
  },
  a: () => within("a"),
  x: () => within("x"),
  "[": () => message(-1),
  "]": () => message(1),
  f: () => (one("#log") ? document.dispatchEvent(new CustomEvent("fork")) : open("fork")),
  m: () => {
    const short = one("[data-short]")?.dataset.short;
    if (short) location.href = location.pathname.endsWith("/map") ? `/t/${short}` : `/t/${short}/map`;
  },
  y: () => {
    const focused = document.activeElement?.closest(".msg");
    const link = /** @type {HTMLAnchorElement | null} */ (focused?.querySelector("a.when"));
    copy(link ? link.href : location.href);
  },
  ".": () => {
    const menu = /** @type {HTMLDetailsElement | null} */ (one("#actions"));
    if (!menu) return;
    menu.open = !menu.open;
    one("button, a", menu)?.focus();
  },
  r: () => one("#text")?.focus(),
};

document.addEventListener("keydown", (event) => {
  const { key } = event;
  if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
    event.preventDefault();
    import("./palette.js").then((palette) => palette.show());
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape") {
    for (const menu of all("details.menu[open]")) menu.removeAttribute("open");
    if (isTyping(event.target)) /** @type {HTMLElement} */ (event.target).blur();
    return;
  }
  if (isTyping(event.target) || one("dialog[open]")) return;
  if (before === "g" && GO[key]) {
    before = "";
    event.preventDefault();
    GO[key]();
    return;
  }
  before = key;
  if (KEYS[key]) {
    event.preventDefault();
    KEYS[key]();
  }
});
