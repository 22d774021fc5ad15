// The open run of the thread on the screen: its text as it is made. It is shown as text, and gives way to its message
// once that is logged. The log never holds it, so a broken socket loses nothing.
// @ts-check
import { make, one } from "./dom.js";

const room = /** @type {HTMLElement} */ (one("#thread"));
const log = /** @type {HTMLElement} */ (one("#log"));

/** Longest time that a finished text waits for its message, in milliseconds: it may be outside the window. */
const FINISHED_MAX = 3_000;

const shown = make("article", { class: "writing", "aria-label": "assistant, still writing", "aria-busy": "true" });
const head = make("header", {}, "");
head.append(make("span", { class: "role" }, "assistant"), make("span", { class: "tag" }, "writing"));
const words = document.createTextNode("");
const body = make("div", { class: "body plain", dir: "auto" });
body.append(words);
shown.append(head, body);

/** @type {WebSocket | null} */
let socket = null;
let run = "", wait = 500, step = 0, come = "", message = "", planned = false;

/** Text that came since the last frame is added once a frame. */
function add() {
  planned = false;
  if (!come) return;
  words.appendData(come);
  come = "";
  if (!shown.isConnected) log.append(shown);
}

function clear() {
  come = message = "";
  words.data = "";
  shown.remove();
}

/** Takes the text away once its message is on the screen. */
function settle() {
  if (message && document.getElementById(`m-${message}`)) clear();
}

/** @param {any} event */
function hear(event) {
  if (event.type === "assistant") {
    if (event.stream_status === "chunk") {
      if (event.step !== step || message) clear();
      step = event.step;
      come += event.content;
      if (!planned) {
        planned = true;
        requestAnimationFrame(add);
      }
    } else if (event.stream_status === "discarded") {
      clear();
    } else if (words.data || come) {
      message = event.message_id ?? "";
      settle();
      const own = message;
      setTimeout(() => own === message && clear(), FINISHED_MAX);
    }
  } else if (event.type === "status" && ["retrying", "stopping"].includes(event.status)) {
    const said = one("#run-status");
    if (said) said.textContent = event.message;
  }
}

function follow() {
  const now = room.dataset.running ?? "";
  if (now === run && socket) return;
  socket?.close();
  socket = null;
  if (now !== run) clear();
  run = now;
  if (!run || one("#live")?.dataset.state !== "live") return;
  const address = new URL(`/v1/runs/${run}/ws`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const opened = (socket = new WebSocket(address));
  // It begins anew with what the present step said so far.
  opened.onopen = () => {
    wait = 500;
    clear();
  };
  opened.onmessage = (event) => hear(JSON.parse(event.data));
  opened.onclose = () => {
    if (socket !== opened) return;
    socket = null;
    setTimeout(follow, wait);
    wait = Math.min(wait * 2, 8_000);
  };
}

document.addEventListener("tailed", () => {
  settle();
  follow();
});
document.addEventListener("live", follow);
document.addEventListener("paused", () => {
  const open = socket;
  socket = null;
  open?.close();
});
