// Small helpers for the document: the one place where HTML enters it, toasts, and times in the reader's zone.
// @ts-check

/** @type {{createHTML(text: string): any}} */
const policy = /** @type {any} */ (window).trustedTypes
  ? /** @type {any} */ (window).trustedTypes.createPolicy("threadkeep", { createHTML: (/** @type {string} */ text) => text })
  : { createHTML: (text) => text };

/** HTML of this server as nodes. Nothing else may become HTML. @param {string} text @returns {DocumentFragment} */
export function nodes(text) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(text);
  dress(template.content);
  return template.content;
}

/** @param {string} selector @param {ParentNode} [within] @returns {HTMLElement | null} */
export const one = (selector, within = document) => within.querySelector(selector);

/** @param {string} selector @param {ParentNode} [within] @returns {HTMLElement[]} */
export const all = (selector, within = document) => [...within.querySelectorAll(selector)].map((found) => /** @type {HTMLElement} */ (found));

/** @param {string} name @param {Record<string, string>} [attributes] @param {string} [text] @returns {HTMLElement} */
export function make(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The next frame, or soon in a tab that nobody sees: changes of the document are made once a frame. */
export const frame = () => new Promise((done) => {
  const late = setTimeout(done, 200);
  requestAnimationFrame(() => {
    clearTimeout(late);
    done(undefined);
  });
});
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];

/** A moment as people say it. @param {Date} moment @returns {string} */
function spoken(moment) {
  const seconds = (moment.getTime() - Date.now()) / 1000;
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  return "now";
}

/** Shows times in the reader's zone. @param {ParentNode} within */
export function dress(within) {
  for (const time of within.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const said = spoken(moment);
    if (time.textContent !== said) time.textContent = said;
  }
}
// The exact time is written when somebody looks for it.
document.addEventListener("pointerover", (event) => {
  const time = /** @type {HTMLElement} */ (event.target).closest?.("time");
  if (time && !time.title) time.title = exact.format(new Date(time.dateTime));
});
setInterval(() => document.hidden || dress(document), 30_000);

/** Says something in a corner of the page. @param {string} text @param {{href?: string, label?: string, run?: () => void, kind?: string, keep?: boolean}} [more] */
export function toast(text, more = {}) {
  const shown = make("div", { class: `toast ${more.kind ?? ""}` });
  shown.append(make("span", {}, text));
  if (more.href) shown.append(make("a", { href: more.href }, more.label ?? "More"));
  if (more.run) {
    const button = make("button", { type: "button", class: "does" }, more.label ?? "Do");
    button.onclick = more.run;
    shown.append(button);
  }
  const close = make("button", { type: "button", "aria-label": "Close" }, "×");
  close.onclick = () => shown.remove();
  shown.append(close);
  one("#toasts")?.append(shown);
  if (!more.keep) setTimeout(() => shown.remove(), more.kind === "bad" ? 15_000 : 6_000);
}

/** Copies a text and says so. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast(text, { keep: true });
  }
}

/** Whether keys belong to what has the focus. @param {EventTarget | null} target */
export const isTyping = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName)) &&
  !/^(radio|checkbox|range|button)$/.test(/** @type {HTMLInputElement} */ (target).type ?? "");

/** Opens a dialog of the page. @param {string} id */
export function open(id) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
  return dialog;
}

/** Puts a part of the page in the place of the old one, unless it is in use. @param {ParentNode} from @param {string} selector */
export function swap(from, selector) {
  const now = one(selector), next = from.querySelector(selector);
  if (next && now && !now.contains(document.activeElement) && !now.querySelector("[open]")) now.replaceWith(next);
  else next?.remove();
}
