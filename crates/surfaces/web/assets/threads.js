// The list of threads: rows never jump. What changed waits behind a button; more rows come at the end.
// @ts-check
import { complain, fragment } from "./call.js";
import { all, one } from "./dom.js";

/** @type {Set<string>} */
const changed = new Set();

document.addEventListener("thread-change", (event) => {
  const { threadId } = /** @type {CustomEvent} */ (event).detail;
  const pill = one("#changed");
  if (!pill || document.body.dataset.place !== "threads") return;
  changed.add(threadId);
  pill.hidden = false;
  const button = one("button", pill);
  if (button) button.textContent = changed.size === 1 ? "1 thread changed: show" : `${changed.size} threads changed: show`;
});

one("#changed button")?.addEventListener("click", async () => {
  try {
    const { fragment: rows } = await fragment(`/web/threads${location.search}`);
    one("#rows")?.replaceChildren(rows);
    changed.clear();
    const pill = one("#changed");
    if (pill) pill.hidden = true;
    all("#rows a.name")[0]?.focus();
  } catch (error) {
    complain(error);
  }
});

/** Puts the next page in the place of the link to it. @param {HTMLElement} link */
async function more(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "yes";
  try {
    const { fragment: rows } = await fragment(link.dataset.more ?? "");
    const had = document.activeElement === link;
    const first = /** @type {HTMLElement | null} */ (rows.querySelector("a, summary"));
    link.closest("li")?.replaceWith(rows);
    if (had) first?.focus();
    watch();
  } catch (error) {
    delete link.dataset.busy;
    complain(error);
  }
}

document.addEventListener("click", (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest?.("[data-more]");
  if (!link) return;
  event.preventDefault();
  more(/** @type {HTMLElement} */ (link));
});

const seen = new IntersectionObserver((found) => {
  for (const { isIntersecting, target } of found) if (isIntersecting) more(/** @type {HTMLElement} */ (target));
}, { rootMargin: "400px" });

function watch() {
  seen.disconnect();
  for (const link of all("[data-more]")) seen.observe(link);
}
watch();
