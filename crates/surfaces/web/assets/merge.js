// A merge: each conflict gets a choice, then one call does it all or nothing.
// @ts-check
import { call, complain } from "./call.js";
import { all, one } from "./dom.js";

const room = one("#merge");
const form = /** @type {HTMLFormElement | null} */ (one("#merge-form"));

function choices() {
  return all(".conflict").flatMap((conflict) => {
    const picked = /** @type {HTMLInputElement | null} */ (one("input:checked", conflict));
    if (!picked) return [];
    /** @type {any} */
    const choice = { [conflict.dataset.field ?? "path"]: conflict.dataset.name };
    if (picked.value !== "edit") return [{ ...choice, take: picked.value }];
    const text = /** @type {HTMLTextAreaElement} */ (one("textarea", conflict)).value;
    if (conflict.dataset.field !== "key") return [{ ...choice, content: text }];
    try {
      return [{ ...choice, value: JSON.parse(text) }];
    } catch {
      say(`The value of ${conflict.dataset.name} is not JSON.`);
      return [];
    }
  });
}

/** @param {string} text */
function say(text) {
  const state = one("#merge-state");
  if (state) state.textContent = text;
}

function count() {
  const open = all('.conflict[data-open="true"]');
  const done = open.filter((conflict) => one("input:checked", conflict));
  const shown = one("#resolved");
  if (shown) shown.textContent = String(done.length);
  const button = /** @type {HTMLButtonElement | null} */ (one("#merge-now"));
  if (button) button.disabled = done.length < open.length;
}

form?.addEventListener("change", count);
form?.addEventListener("input", (event) => {
  const text = /** @type {HTMLElement} */ (event.target);
  if (text.tagName !== "TEXTAREA") return;
  const radio = /** @type {HTMLInputElement | null} */ (one("input[value=edit]", text.closest(".conflict") ?? document));
  if (radio) radio.checked = true;
  count();
});

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!room) return;
  say("");
  const requiresApproval = Boolean(new FormData(form).get("approval"));
  try {
    const path = `/v1/threads/${room.dataset.thread}`;
    // The version before it is where an undo leads.
    const before = (await call("GET", path)).v;
    const told = await call("POST", `${path}/merge`, { sources: [room.dataset.source], choices: choices(), requiresApproval }, { "if-match": `"${before}"` });
    if (told.status === "merged") location.href = `/t/${room.dataset.short}?merged=${told.mergeId}&before=${before}`;
    else if (told.status === "pending_approval") location.href = "/inbox";
    else say(`Nothing changed: the merge is ${told.status}.`);
  } catch (error) {
    complain(error);
  }
});

// o, t, u and e choose within the conflict that has the focus, or within the first open one.
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || /^(TEXTAREA|SELECT)$/.test(target.tagName)) return;
  const value = { o: "ours", t: "theirs", u: "union", e: "edit" }[event.key];
  if (!value) return;
  const conflict = target.closest(".conflict") ?? all(".conflict").find((found) => !one("input:checked", found));
  const radio = /** @type {HTMLInputElement | null} */ (conflict && one(`input[value=${value}]`, conflict));
  if (!radio) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  radio.checked = true;
  radio.focus();
  count();
  if (value === "edit") one("textarea", /** @type {ParentNode} */ (conflict))?.focus();
}, true);
count();
