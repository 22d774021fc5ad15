// The page begins here: theme, menus, dialogs, the badge of the inbox; then what the screen needs.
// @ts-check
import { call, complain, fragment } from "./call.js";
import { all, copy, dress, one, open, swap, toast } from "./dom.js";
import "./keys.js";
import { follow } from "./live.js";

dress(document);

one("#theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `threadkeep_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
});

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const opener = /** @type {HTMLElement | null} */ (target.closest("[data-open]"));
  if (opener?.dataset.open === "palette") import("./palette.js").then((palette) => palette.show());
  else if (opener?.dataset.open) open(opener.dataset.open);
  if (target.closest("[data-close]")) target.closest("dialog")?.close();
  if (target instanceof HTMLDialogElement) target.close();
  const copied = /** @type {HTMLAnchorElement | null} */ (target.closest("a[data-copy]"));
  if (copied) {
    event.preventDefault();
    copy(copied.href);
  }
  const fill = /** @type {HTMLElement | null} */ (target.closest("[data-fill]"));
  const field = fill?.closest("form")?.querySelector("input[type=number]");
  if (field) /** @type {HTMLInputElement} */ (field).value = fill?.dataset.fill ?? "";
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target) || opener) menu.removeAttribute("open");
});

// Filters take effect as soon as they are chosen.
for (const select of document.querySelectorAll("form.filters select")) select.addEventListener("change", () => /** @type {HTMLSelectElement} */ (select).form?.requestSubmit());
for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("formdata", (event) => {
    const { formData } = /** @type {FormDataEvent} */ (event);
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}

// A call that is a single button.
document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("button[data-call]"));
  if (!button) return;
  const [method, path] = (button.dataset.call ?? "").split(" ");
  button.disabled = true;
  try {
    await call(method, path, {});
    // A part of the page with the focus is not read anew.
    button.blur();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
});

/** The inbox: how many wait, and those on the screen. */
async function inbox() {
  try {
    const told = await call("GET", "/v1/approvals?state=pending&limit=100");
    const badge = one("#waiting");
    if (badge) {
      badge.hidden = told.items.length === 0;
      const number = one("span", badge);
      if (number) number.textContent = String(told.items.length);
    }
    const shown = one("#approvals");
    if (!shown) return;
    const { fragment: cards } = await fragment("/web/approvals");
    const at = /** @type {HTMLElement | null} */ (document.activeElement?.closest(".approval"));
    const typing = at && /** @type {HTMLInputElement | null} */ (at.querySelector("input"))?.value;
    if (typing && told.items.some((/** @type {any} */ item) => item.id === at.dataset.approval)) return;
    shown.replaceChildren(cards);
    const same = at && document.getElementById(at.id);
    (same ?? (at ? one(".approval") : null))?.focus();
  } catch (error) {
    complain(error);
  }
}

document.addEventListener("thread-change", (event) => {
  if (/approval|transfer/.test(/** @type {CustomEvent} */ (event).detail.kind)) inbox();
});
document.addEventListener("live", () => {
  if (document.body.dataset.place === "inbox") inbox();
});
document.addEventListener("answered", (event) => {
  const told = /** @type {CustomEvent} */ (event).detail;
  if (told) toast(`${told.state === "approved" ? "Approved" : "Denied"}: ${told.scope.join(", ")}.`);
  inbox();
});

/** How to find again what has the focus within a part that is read anew. @param {HTMLElement | null} active */
function handle(active) {
  if (!active?.closest("[data-live]")) return "";
  const to = active.getAttribute("href");
  if (to) return `[data-live] a[href="${CSS.escape(to)}"]`;
  return active.dataset.short ? `[data-live] [data-short="${CSS.escape(active.dataset.short)}"]` : "";
}

/** Parts that are read anew when the thread of the screen changes; many changes lead to one question. */
let renewing = false;
const renews = Boolean(one("[data-live]"));
document.addEventListener("thread-change", (event) => {
  const { threadId } = /** @type {CustomEvent} */ (event).detail;
  if (renewing || !renews || one(".thread")?.dataset.thread !== threadId) return;
  renewing = true;
  setTimeout(async () => {
    renewing = false;
    try {
      const { fragment: page } = await fragment(location.pathname + location.search);
      const held = handle(/** @type {HTMLElement | null} */ (document.activeElement));
      if (held) /** @type {HTMLElement} */ (document.activeElement).blur();
      swap(page, "#top");
      for (const part of all("[data-live]")) swap(page, `#${part.id}`);
      if (held) one(held)?.focus();
      document.dispatchEvent(new CustomEvent("renewed"));
    } catch (error) {
      complain(error);
    }
  }, 250);
});

/** The modules that screens need, by what is on them. */
const PARTS = { "#thread #log": "./thread.js", "#merge": "./merge.js", ".maptree": "./map.js", "#import": "./import.js" };

// The page calls itself live once everything listens.
await import("./threads.js");
for (const [found, module] of Object.entries(PARTS)) if (one(found)) await import(module);
follow();
