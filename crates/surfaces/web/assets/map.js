// The map is a tree: arrows move, Enter opens, and c on two threads compares them.
// @ts-check
import { all, make, one } from "./dom.js";
import { row } from "./keys.js";

let picked = "";

/** Shows which thread waits for another one to be compared with. */
function show() {
  const said = one("#picked");
  for (const item of all(".maptree [role=treeitem]")) item.toggleAttribute("data-picked", item.dataset.short === picked);
  if (!said) return;
  said.hidden = !picked;
  const name = one(".maptree [data-picked] a.name")?.textContent ?? "";
  const stop = make("button", { type: "button" }, "Cancel");
  stop.onclick = () => pick("");
  said.replaceChildren(make("span", {}, `Compare “${name}” with another thread: choose it.`), stop);
}

/** Takes a thread to compare, or compares it with the one that was taken. @param {string} short */
function pick(short) {
  if (picked && short && short !== picked) {
    location.href = `/t/${picked}/compare?with=${short}`;
    return;
  }
  picked = picked === short ? "" : short;
  show();
}

document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest?.("[data-compare]");
  if (button) pick(/** @type {HTMLElement | null} */ (button.closest("[role=treeitem]"))?.dataset.short ?? "");
});
document.addEventListener("renewed", show);
document.addEventListener("keydown", (event) => {
  const item = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && picked) pick("");
  if (item?.getAttribute?.("role") !== "treeitem" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    row(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    one("a", item)?.click();
  } else if (event.key === "c") {
    pick(item.dataset.short ?? "");
  }
});
