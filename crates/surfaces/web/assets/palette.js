// Find or do: threads by title, pages, and actions of the thread on the screen.
// @ts-check
import { call } from "./call.js";
import { all, make, one, open } from "./dom.js";

/** @typedef {{label: string, note: string, run: () => void}} Item */

/** @returns {Item[]} */
function fixed() {
  /** @type {Item[]} */
  const items = [
    ["Threads", "/"], ["Inbox", "/inbox"], ["Search", "/search"], ["Memories", "/memories"], ["Projects", "/projects"], ["Settings", "/settings"], ["Import", "/import"], ["API and docs", "/docs"],
  ].map(([label, to]) => ({ label, note: "page", run: () => (location.href = to) }));
  for (const button of all("main [data-open], header [data-open]")) {
    const id = button.dataset.open ?? "";
    const label = [...button.childNodes].filter((part) => part.nodeName !== "KBD").map((part) => part.textContent).join("").trim();
    if (id === "palette" || !label || items.some((item) => item.label === label)) continue;
    items.push({ label, note: "action", run: () => open(id) });
  }
  const short = one("[data-short]")?.dataset.short;
  if (short) for (const page of ["map", "files", "values", "runs", "context", "merge", "compare"]) items.push({ label: `Go to ${page}`, note: "this thread", run: () => (location.href = `/t/${short}/${page}`) });
  items.push({ label: "Keyboard", note: "help", run: () => open("keys") });
  return items;
}

/** @type {Item[]} */
let shown = [];
let at = 0;

/** @param {Item[]} items */
function draw(items) {
  shown = items.slice(0, 12);
  at = 0;
  const list = one("#palette-list");
  list?.replaceChildren(...shown.map((item, place) => {
    const row = make("li", { role: "option", id: `palette-${place}`, "aria-selected": String(place === 0) });
    row.append(make("span", {}, item.label), make("small", {}, item.note));
    row.onclick = () => pick(place);
    return row;
  }));
  point(0);
}

/** @param {number} place */
function point(place) {
  at = Math.max(0, Math.min(shown.length - 1, place));
  all("#palette-list li").forEach((row, own) => row.setAttribute("aria-selected", String(own === at)));
  one("#palette input")?.setAttribute("aria-activedescendant", shown.length ? `palette-${at}` : "");
  one(`#palette-${at}`)?.scrollIntoView({ block: "nearest" });
}

/** @param {number} place */
function pick(place) {
  const dialog = /** @type {HTMLDialogElement} */ (one("#palette"));
  dialog.close();
  shown[place]?.run();
}

let asked = 0;

/** @param {string} text */
async function find(text) {
  const own = ++asked;
  const wanted = text.trim().toLowerCase();
  const items = fixed().filter((item) => !wanted || item.label.toLowerCase().includes(wanted));
  draw(items);
  try {
    const found = await call("GET", `/v1/threads?limit=8${wanted ? `&title=${encodeURIComponent(text.trim())}` : ""}`);
    if (own !== asked) return;
    const threads = found.items.map((/** @type {any} */ thread) => ({ label: thread.title || "Untitled", note: thread.shortId, run: () => (location.href = `/t/${thread.shortId}`) }));
    const search = wanted ? [{ label: `Search messages for “${text.trim()}”`, note: "search", run: () => (location.href = `/search?q=${encodeURIComponent(text.trim())}`) }] : [];
    draw([...(wanted ? threads : []), ...items, ...search, ...(wanted ? [] : threads)]);
  } catch {
    // The pages and actions are shown already; the refusal is told elsewhere.
  }
}

const field = /** @type {HTMLInputElement | null} */ (one("#palette input"));
if (field) {
  /** @type {ReturnType<typeof setTimeout>} */
  let later;
  field.oninput = () => {
    clearTimeout(later);
    later = setTimeout(() => find(field.value), 120);
  };
  field.onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      point(at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      pick(at);
    }
  };
}

/** Opens the palette. */
export function show() {
  open("palette");
  if (field) {
    field.value = "";
    field.focus();
  }
  find("");
}
