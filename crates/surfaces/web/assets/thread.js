// A conversation: a window over its messages, the live tail, the composer, and the way back in time.
// @ts-check
import { call, complain, fragment, Problem } from "./call.js";
import "./run.js";
import { all, copy, dress, frame, make, one, open, swap, toast } from "./dom.js";

const room = /** @type {HTMLElement} */ (one("#thread"));
const log = /** @type {HTMLElement} */ (one("#log"));
const [before, after] = all(".spacer", log);
const { short, thread } = /** @type {{short: string, thread: string}} */ (/** @type {unknown} */ (room?.dataset ?? {}));
const path = `/v1/threads/${thread}`;
/** Messages of a page, how many stay in the document, and how many enter it in one frame. */
const PAGE = 50, MOUNTED_MAX = 1_000, SLICE = 100;

let version = Number(room?.dataset.version);
let total = Number(room?.dataset.total);
let first = Number(before?.dataset.before ?? 0);
let last = total - Number(after?.dataset.after ?? 0);
const asOf = room?.dataset.asOf;
const view = room?.dataset.view === "json" ? "&view=json" : "";

const shown = () => all(".msg", log);
const talk = /** @type {HTMLElement} */ (log.parentElement);
/** How far the end of the talk is below the window. On narrow screens other things follow it. */
const below = () => talk.getBoundingClientRect().bottom - window.innerHeight;
const atEnd = () => last >= total && below() <= 80;
/** Whether the end stays in view while messages get their heights, and whether the next scroll is ours. */
let pinned = false, ours = false;
function toEnd() {
  pinned = true;
  const by = below();
  if (by <= 0) return;
  ours = true;
  window.scrollBy({ top: by, behavior: "instant" });
}
new ResizeObserver(() => pinned && toEnd()).observe(log);

// --- the window over the messages

let average = 90;

/** Gives the spacers the height of what they stand for. */
function space() {
  before.style.height = `${first * average}px`;
  after.style.height = `${Math.max(0, total - last) * average}px`;
}

/** The same, by the height that messages have now. It takes a layout, so the live tail goes without. */
function measure() {
  const mounted = shown();
  if (mounted.length) average = Math.max(24, (mounted[mounted.length - 1].getBoundingClientRect().bottom - mounted[0].getBoundingClientRect().top) / mounted.length);
  space();
}

/** @param {number} from @param {number} count */
async function read(from, count) {
  const at = asOf ? `&v=${asOf}` : "";
  const told = await fragment(`/t/${short}/messages?from=${from}&count=${count}${at}${view}`);
  return told.fragment;
}

/** Puts results that came later into the lines of their calls. @param {ParentNode} within */
function fold(within) {
  for (const result of all("[data-result-of]", within)) {
    const line = log.querySelector(`[data-call-id="${CSS.escape(result.dataset.resultOf ?? "")}"]`);
    const output = result.querySelector("div");
    if (!line || !output) continue;
    line.querySelector(".pending")?.remove();
    line.querySelector("div")?.append(...output.childNodes);
    /** @type {HTMLElement} */ (line).dataset.state = result.dataset.state;
    const sign = line.querySelector(".sign");
    if (sign) {
      sign.textContent = result.querySelector(".sign")?.textContent ?? "";
      sign.setAttribute("aria-label", result.dataset.state ?? "");
    }
    result.closest(".msg")?.classList.add("folded");
  }
}

/** Drops messages that are far from what is read; never those with the focus. @param {boolean} fromTop */
function trim(fromTop) {
  if (last - first <= MOUNTED_MAX) return;
  const mounted = shown();
  while (mounted.length > MOUNTED_MAX) {
    const gone = fromTop ? mounted.splice(0, PAGE) : mounted.splice(-PAGE);
    if (gone.some((message) => message.contains(document.activeElement))) return;
    gone.forEach((message) => message.remove());
    if (fromTop) first += gone.length;
    else last -= gone.length;
  }
}

let busy = false;

/** @param {"older" | "newer"} which */
async function extend(which) {
  if (busy || (which === "older" ? first === 0 : last >= total)) return;
  busy = true;
  try {
    if (which === "older") {
      const from = Math.max(0, first - PAGE);
      const found = await read(from, first - from);
      const anchor = shown()[0];
      const was = anchor?.getBoundingClientRect().top ?? 0;
      before.after(found);
      first = from;
      trim(false);
      measure();
      if (anchor?.isConnected) window.scrollBy({ top: anchor.getBoundingClientRect().top - was, behavior: "instant" });
    } else {
      const found = await read(last, PAGE);
      const count = found.querySelectorAll(".msg").length;
      if (!count) total = last;
      const anchor = shown().at(-1);
      const was = anchor?.getBoundingClientRect().top ?? 0;
      after.before(found);
      last += count;
      trim(true);
      measure();
      if (anchor?.isConnected) window.scrollBy({ top: anchor.getBoundingClientRect().top - was, behavior: "instant" });
    }
    fold(log);
  } catch (error) {
    complain(error);
  } finally {
    busy = false;
    settle();
  }
}

/** Shows the messages from an index on, wherever the window was. @param {number} index */
async function jump(index) {
  if (busy) return;
  busy = true;
  try {
    const from = Math.max(0, Math.min(index, total - PAGE));
    const found = await read(from, PAGE);
    shown().forEach((message) => message.remove());
    first = from;
    last = from + found.querySelectorAll(".msg").length;
    before.after(found);
    before.style.height = `${first * average}px`;
    after.style.height = `${Math.max(0, total - last) * average}px`;
    fold(log);
  } catch (error) {
    complain(error);
  } finally {
    busy = false;
  }
}

/** Looks where the reader is: near an end of the window, or in a spacer far from it. */
function settle() {
  if (busy || !before || !after) return;
  const [top, bottom] = [before.getBoundingClientRect(), after.getBoundingClientRect()];
  const high = window.innerHeight;
  if (first > 0 && top.bottom > -600) {
    if (top.bottom > high * 3) jump(Math.floor(Math.max(0, -top.top) / average)).then(settle);
    else extend("older");
  } else if (last < total && bottom.top < high + 600) {
    if (bottom.top < -high * 2) jump(last + Math.floor(Math.max(0, -bottom.top) / average)).then(settle);
    else extend("newer");
  }
}

let planned = false;
window.addEventListener("scroll", () => {
  pinned = ours || atEnd();
  ours = false;
  if (pinned && fresh) news(0);
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    settle();
  });
}, { passive: true });

// --- the live tail

let fresh = 0;
const newer = one("#newer");

/** @param {number} count */
function news(count) {
  fresh = count;
  if (!newer) return;
  newer.hidden = fresh === 0;
  const label = one("span", newer);
  if (label) label.textContent = fresh === 1 ? "1 new message" : `${fresh} new messages`;
}

newer?.addEventListener("click", async () => {
  if (last < total) await jump(total - PAGE);
  toEnd();
  news(0);
});

let reading = false, wanted = version;

/** Reads what came after the version on the screen. */
async function tail() {
  if (reading || asOf) return;
  reading = true;
  try {
    while (wanted > version) {
      const told = await fragment(`/t/${short}/tail?after=${version}${view}`);
      await frame();
      const stays = pinned || atEnd();
      version = Number(told.headers.get("threadkeep-version"));
      wanted = Math.max(wanted, version);
      room.dataset.running = told.headers.get("threadkeep-running") ?? "";
      addressed(told.fragment.querySelector("#queue"));
      for (const changed of ["#top", "#queue", "#beside", "#working"]) swap(told.fragment, changed);
      const range = /** @type {HTMLInputElement | null} */ (one("#as-of"));
      if (range && !asOf) {
        range.max = range.value = String(version);
        const output = one(".slider output");
        if (output) output.textContent = `v${version}`;
      }
      const was = total;
      total = Number(told.headers.get("threadkeep-total"));
      const came = [...told.fragment.querySelectorAll(".msg")].map((found) => /** @type {HTMLElement} */ (found));
      if (told.headers.get("threadkeep-view") === "changed") {
        last = Math.min(total, Math.max(last, first + PAGE));
        first = Math.min(first, Math.max(0, total - PAGE));
        const again = await read(first, Math.min(1_000, Math.max(PAGE, last - first)));
        shown().forEach((message) => message.remove());
        last = first + again.querySelectorAll(".msg").length;
        before.after(again);
        fold(log);
      } else if (last >= was && came.length === total - was) {
        one(".empty", log)?.remove();
        fold(told.fragment);
        await add(came, stays);
        speak(came);
      } else if (stays && total > last) {
        await jump(total - PAGE);
      }
      space();
      if (stays) toEnd();
      else news(fresh + Math.max(0, total - was));
      document.dispatchEvent(new CustomEvent("tailed"));
      // Many changes are shown together.
      if (wanted > version) await new Promise((done) => setTimeout(done, 60));
    }
  } catch (error) {
    complain(error);
  } finally {
    reading = false;
  }
}

/** Adds messages at the end, a few in each frame, however many came. @param {HTMLElement[]} came @param {boolean} stays */
async function add(came, stays) {
  let end = last;
  for (let from = 0; from < came.length; from += SLICE) {
    if (from > 0) {
      space();
      if (stays) toEnd();
      await frame();
      // Somebody scrolled away meanwhile, and the end was dropped: it is read again when they come back.
      if (last !== end) return;
    }
    const slice = came.slice(from, from + SLICE);
    after.before(...slice);
    last += slice.length;
    end = last;
    if (stays) trim(true);
  }
}

/** @param {HTMLElement[]} came */
function speak(came) {
  const said = came.filter((message) => message.matches(".user, .assistant")).slice(-3);
  if (said.length) one("#spoken")?.replaceChildren(...said.map((message) => make("p", {}, `${message.getAttribute("aria-label")}: ${(message.querySelector(".body")?.textContent ?? "").slice(0, 300)}`)));
}

document.addEventListener("thread-change", (event) => {
  const change = /** @type {CustomEvent} */ (event).detail;
  if (change.threadId !== thread) return;
  if (change.kind === "thread_deleted") {
    one("#compose")?.remove();
    log.append(make("p", { class: "warn" }, "This thread was deleted."));
    return;
  }
  wanted = Math.max(wanted, change.version ?? 0);
  tail();
});
document.addEventListener("live", async () => {
  try {
    wanted = Math.max(wanted, (await call("GET", path)).v);
    tail();
  } catch (error) {
    complain(error);
  }
});

// --- the composer

const form = /** @type {HTMLFormElement | null} */ (one("#say"));
const text = /** @type {HTMLTextAreaElement | null} */ (one("#text"));
let kept = text?.value ?? "";
/** @type {ReturnType<typeof setTimeout>} */
let keeping;
/** The key of what is being sent: sent again, it is still one message. */
let sending = { text: "", key: "" };

/** @param {string} said */
const state = (said) => {
  const shown = one("#kept");
  if (shown) shown.textContent = said;
};

/** Where the next message goes: into the queue while a run is open or where it starts one, else to the messages. */
let to = one("#queue")?.dataset.to ?? "messages";

/** Takes from the queue how the next message is sent. @param {HTMLElement | null} queue */
function addressed(queue) {
  if (!queue) return;
  to = queue.dataset.to ?? to;
  const button = one("#send");
  if (button) button.textContent = queue.dataset.sends ?? "Send";
  if (text) text.placeholder = queue.dataset.says ?? "";
}

function grow() {
  if (!text) return;
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, window.innerHeight * 0.4)}px`;
}

async function keep() {
  if (!text || text.value === kept) return;
  const value = text.value;
  try {
    await call("PATCH", path, { draft: value || null });
    kept = value;
    state(value ? "Draft kept" : "");
  } catch (error) {
    state("Draft not kept yet");
    if (!(error instanceof Problem)) throw error;
  }
}

text?.addEventListener("input", () => {
  grow();
  state("");
  clearTimeout(keeping);
  keeping = setTimeout(keep, 1_000);
});
text?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form?.requestSubmit();
  }
});

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const value = text?.value.trim() ?? "";
  if (!value || !text) return;
  clearTimeout(keeping);
  if (sending.text !== value) sending = { text: value, key: crypto.randomUUID?.() ?? String(Math.random()).slice(2) };
  const button = /** @type {HTMLButtonElement} */ (one("#send"));
  button.disabled = true;
  state("Sending");
  try {
    const sent = await call("POST", `${path}/${to}`, { role: "user", content: value }, { "idempotency-key": sending.key });
    sending = { text: "", key: "" };
    if (text.value.trim() === value) text.value = "";
    grow();
    state("");
    if (kept) keep();
    wanted = Math.max(wanted, sent.version ?? 0);
    if (last < total) await jump(total - PAGE);
    toEnd();
    tail();
  } catch (error) {
    state("Not sent. Your text is still here.");
    complain(error);
  } finally {
    button.disabled = false;
  }
});

document.addEventListener("signed-in", () => {
  state("");
  keep();
});
window.addEventListener("beforeunload", (event) => {
  if (text && text.value !== kept && text.value.trim()) event.preventDefault();
});

// --- actions on a message

const bar = make("div", { class: "acts-bar", role: "toolbar", "aria-label": "Actions on this message" });
/** @param {string} label @param {string} hint @param {(message: HTMLElement) => void} run */
function action(label, hint, run) {
  const button = make("button", { type: "button", title: hint }, label);
  button.onclick = () => {
    const message = /** @type {HTMLElement | null} */ (bar.closest(".msg"));
    if (message) run(message);
  };
  bar.append(button);
}

/** @param {HTMLElement | null} message */
function fork(message) {
  const dialog = open("fork");
  if (!dialog) return;
  const field = /** @type {HTMLInputElement | null} */ (dialog.querySelector("[name=messageId]"));
  if (field) field.value = message?.dataset.message ?? "";
  const point = one("#fork-point");
  if (point) point.textContent = message ? `After message ${message.dataset.index}: “${(message.querySelector(".body")?.textContent ?? "").trim().slice(0, 80)}”` : `From version ${asOf ?? version}.`;
}

if (document.body.dataset.may !== "read") action("Fork", "Fork after this message (f)", fork);
action("Link", "Copy the link (y)", (message) => copy(/** @type {HTMLAnchorElement} */ (message.querySelector("a.when")).href));
if (document.body.dataset.may !== "read" && !asOf) action("Edit", "Change this message", async (message) => {
  try {
    const told = await call("GET", `${path}/messages/${message.dataset.message}`);
    if (typeof told.content !== "string") return complain(new Problem({ detail: "This message has parts; only plain text is edited here.", hint: "Fork after the message before it instead." }, 400));
    const dialog = open("edit");
    const field = /** @type {HTMLTextAreaElement | null | undefined} */ (dialog?.querySelector("textarea"));
    if (field) field.value = told.content;
    const form = one("#edit-form");
    if (form) form.dataset.call = `PATCH ${path}/messages/${message.dataset.message}`;
    const button = one("#edit-fork");
    if (button) button.onclick = () => forkInstead(message, field?.value ?? "");
  } catch (error) {
    complain(error);
  }
});

/** Forks before a message and says the changed text there. @param {HTMLElement} message @param {string} content */
async function forkInstead(message, content) {
  try {
    const index = Number(message.dataset.index);
    const made = index > 0
      ? await call("POST", `${path}/fork`, { messageIndex: index - 1 })
      : await call("POST", "/v1/threads", { title: `Forked: ${document.title.replace(" · Threadkeep", "")}` });
    await call("PATCH", `/v1/threads/${made.id}`, { draft: content });
    location.href = `/t/${made.shortId}`;
  } catch (error) {
    complain(error);
  }
}

/** @param {Event} event */
function hover(event) {
  const message = /** @type {HTMLElement} */ (event.target).closest?.(".msg");
  if (message && bar.parentElement !== message) message.append(bar);
}
log.addEventListener("pointerover", hover);
log.addEventListener("focusin", hover);
document.addEventListener("fork", () => fork(/** @type {HTMLElement | null} */ (document.activeElement?.closest(".msg") ?? null)));
document.addEventListener("click", (event) => {
  // The button in the header forks the whole thread.
  if (/** @type {HTMLElement} */ (event.target).closest(".acts [data-open=fork], .slider [data-open=fork]")) fork(null);
});

// --- the way back in time

const slider = /** @type {HTMLFormElement | null} */ (one("#slider"));
const range = /** @type {HTMLInputElement | null} */ (one("#as-of"));
range?.addEventListener("input", () => {
  const output = one(".slider output");
  if (output) output.textContent = `v${range.value}`;
  range.setAttribute("aria-valuetext", `version ${range.value}`);
});
range?.addEventListener("change", () => {
  if (range.value === range.max) location.href = `/t/${short}`;
  else slider?.requestSubmit();
});

// --- a merge that was just made

const came = new URLSearchParams(location.search);
if (came.has("merged")) {
  const before = Number(came.get("before"));
  history.replaceState(null, "", `/t/${short}`);
  const undo = async () => {
    try {
      await call("POST", `${path}/rollback`, { version: before });
      location.href = `/t/${short}`;
    } catch (error) {
      complain(error);
    }
  };
  toast("Merged.", before && document.body.dataset.may !== "read" ? { label: "Undo", run: undo, keep: true } : {});
}

// --- begin

if (before && after) {
  history.scrollRestoration = "manual";
  fold(log);
  grow();
  measure();
  const marked = one(".msg.marked");
  if (marked) {
    marked.scrollIntoView({ block: "center" });
    marked.focus({ preventScroll: true });
  } else toEnd();
  measure();
  if (!marked) toEnd();
  dress(log);
}
