// What changes, as it changes: one socket for all threads of the account. It resumes after the last change that it brought.
// @ts-check
import { call, offline, Problem } from "./call.js";
import { frame, one } from "./dom.js";

/** Hidden tabs close their socket after this time, in milliseconds. */
const HIDDEN_MAX = 5 * 60_000;

/** @typedef {{cursor: string, threadId: string, version?: number, kind: string}} Change */

let cursor = "latest";
/** @type {WebSocket | null} */
let socket = null;
let wait = 250;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let hiding;

/** @param {"live" | "wait" | "off"} state */
function show(state) {
  const shown = one("#live");
  if (!shown || shown.dataset.state === state) return;
  shown.dataset.state = state;
  shown.textContent = { live: "live", wait: "connecting", off: "paused" }[state];
}

/** What changed since the last frame: of each thread and kind, the newest. @type {Map<string, Change>} */
const changes = new Map();

/** Tells a change with the next frame, so that a storm of them is told a few times. @param {Change} change */
async function tell(change) {
  const isFirst = changes.size === 0;
  changes.set(`${change.threadId} ${change.kind}`, change);
  if (!isFirst) return;
  await frame();
  const told = [...changes.values()];
  changes.clear();
  for (const detail of told) document.dispatchEvent(new CustomEvent("thread-change", { detail }));
}

/** Follows the account, and tells the document about each change. */
export function follow() {
  if (socket || !one("#live")) return;
  const address = new URL(`/v1/ws?after=${encodeURIComponent(cursor)}`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const opened = (socket = new WebSocket(address));
  opened.onopen = () => {
    const again = wait > 250 || cursor !== "latest";
    wait = 250;
    offline(false);
    show("live");
    // What happened between the page and its socket is asked for once.
    document.dispatchEvent(new CustomEvent("live", { detail: { again } }));
  };
  opened.onmessage = (event) => {
    /** @type {Change} */
    const change = JSON.parse(event.data);
    if (!change.cursor) return;
    cursor = change.cursor;
    tell(change);
  };
  opened.onclose = () => {
    if (socket !== opened) return;
    socket = null;
    if (document.hidden && hiding === undefined) return show("off");
    show("wait");
    setTimeout(again, wait + Math.random() * 250);
    wait = Math.min(wait * 2, 8_000);
  };
}

/** Tries again; a session that ended is told apart from a server that is away. */
async function again() {
  if (socket) return;
  try {
    await call("GET", "/v1/me");
    follow();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return;
    setTimeout(again, wait + Math.random() * 250);
    wait = Math.min(wait * 2, 8_000);
  }
}

document.addEventListener("signed-in", () => {
  wait = 500;
  cursor = "latest";
  follow();
});
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  hiding = undefined;
  if (document.hidden) {
    hiding = setTimeout(() => {
      hiding = undefined;
      const open = socket;
      socket = null;
      open?.close();
      show("off");
      document.dispatchEvent(new CustomEvent("paused"));
    }, HIDDEN_MAX);
  } else {
    follow();
  }
});
