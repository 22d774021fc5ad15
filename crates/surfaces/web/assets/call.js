// Calls of the API: every action of the page is one of them. Forms name theirs in `data-call`.
// @ts-check
import { copy, make, nodes, one, open, toast } from "./dom.js";

/** A refusal, as the server explains it. */
export class Problem extends Error {
  /** @param {any} told @param {number} status */
  constructor(told, status) {
    super(told.detail ?? "The server refused this.");
    this.status = status;
    this.code = told.code ?? "";
    this.hint = told.hint ?? "";
    this.requestId = told.requestId ?? "";
    this.told = told;
  }
}

/** Asks the server. @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @returns {Promise<any>} */
export async function call(method, path, body, headers = {}) {
  /** @type {{method: string, headers: Record<string, string>, body?: string}} */
  const asked = { method, headers: { accept: "application/json", ...headers } };
  if (body !== undefined) {
    asked.headers["content-type"] = "application/json";
    asked.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const answer = await reach(path, asked);
  const text = await answer.text();
  const told = text ? JSON.parse(text) : null;
  if (!answer.ok) throw new Problem(told ?? {}, answer.status);
  return told;
}

/** A fragment of a page. @param {string} path @returns {Promise<{fragment: DocumentFragment, headers: Headers}>} */
export async function fragment(path) {
  const answer = await reach(path, { headers: { accept: "text/html" } });
  if (!answer.ok) throw new Problem({ detail: `This part of the page cannot be read (${answer.status}).` }, answer.status);
  return { fragment: nodes(await answer.text()), headers: answer.headers };
}

/** How often somebody signed in on this page. */
let signedIn = 0;

/** @param {string} path @param {any} asked @returns {Promise<Response>} */
async function reach(path, asked) {
  const session = signedIn;
  let answer;
  try {
    answer = await fetch(path, asked);
  } catch {
    offline(true);
    throw new Problem({ detail: "The server does not answer.", hint: "Nothing you typed is lost. Try again in a moment." }, 0);
  }
  offline(false);
  if (answer.status !== 401) return answer;
  // It was asked in the session before: the dialog must not come back over a page that is signed in.
  if (session !== signedIn) return reach(path, asked);
  open("signin");
  return answer;
}

/** @param {boolean} is */
export function offline(is) {
  const bar = one("#offline");
  if (bar) bar.hidden = !is;
}

/** Tells a refusal. @param {unknown} error */
export function complain(error) {
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) return;
  const text = [error.message, error.hint].filter(Boolean).join(" ");
  toast(text + (error.requestId ? ` (request ${error.requestId})` : ""), {
    kind: "bad", href: error.code ? `/docs/errors/${error.code}` : undefined, label: error.code,
  });
}

/** The body that the fields of a form make: `a.0.b` is a path, `a[]` a list, `a:number` has a type, empty fields are left out. @param {HTMLFormElement} form */
function bodyOf(form) {
  /** @type {any} */
  const body = {};
  for (const [field, value] of new FormData(form)) {
    const [path, type] = field.split(":");
    if (value === "") continue;
    if (path.endsWith("[]")) {
      (body[path.slice(0, -2)] ??= []).push(value);
      continue;
    }
    const parts = path.split(".");
    let at = body;
    parts.slice(0, -1).forEach((part, place) => {
      at[part] ??= /^\d+$/.test(parts[place + 1]) ? [] : {};
      at = at[part];
    });
    at[parts[parts.length - 1]] = type === "number" ? Number(value) : type === "boolean" ? value === "true" : value;
  }
  // An item of a list needs more than its role.
  if (Array.isArray(body.messages)) body.messages = body.messages.filter((/** @type {any} */ message) => message.content);
  if (Array.isArray(body.messages) && !body.messages.length) delete body.messages;
  // A fork has one point.
  if (body.messageId) delete body.version;
  return body;
}

/** @param {HTMLFormElement} form */
async function submit(form) {
  const [method, template] = (form.dataset.call ?? "").split(" ");
  if (form.dataset.sure && !confirm(form.dataset.sure)) return;
  const fields = new FormData(form);
  const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(fields.get(name) ?? "")));
  const body = method === "DELETE" ? undefined : form.dataset.body === "json" ? String(fields.get("json")) : bodyOf(form);
  /** @type {Record<string, string>} */
  const headers = {};
  if (form.dataset.ifMatch) headers["if-match"] = `"${form.dataset.ifMatch}"`;
  const button = /** @type {HTMLButtonElement | null} */ (form.querySelector("button:not([type=button])"));
  if (button) button.disabled = true;
  // The first message of a thread with an agent is queued: that starts a run.
  const first = (body?.agentId && body.messages) || [];
  if (first.length) delete body.messages;
  try {
    const told = await call(method, path, body, headers);
    for (const message of first) await call("POST", `/v1/threads/${told.id}/queue`, message);
    form.closest("dialog")?.close();
    then(form, told);
  } catch (error) {
    if (error instanceof Problem && form.dataset.then === "answered") then(form, null);
    complain(error);
  } finally {
    if (button) button.disabled = false;
  }
}

/** What happens after a call. @param {HTMLFormElement} form @param {any} told */
function then(form, told) {
  switch (form.dataset.then) {
    case "open": location.href = `/t/${(told.shortId ?? told.id).slice(-12)}`; break;
    case "home": location.href = "/"; break;
    case "now": location.href = location.pathname; break;
    case "reload": location.reload(); break;
    case "answered": document.dispatchEvent(new CustomEvent("answered", { detail: told })); break;
    // What the server tells this once.
    case "shows": {
      const name = form.dataset.shows ?? "";
      const shown = one(`#new-${name}`);
      if (!shown || !told[name]) return location.reload();
      shown.hidden = false;
      const code = one("code", shown);
      if (code) code.textContent = told[name];
      const button = one("button", shown);
      if (button) button.onclick = () => copy(told[name]);
      break;
    }
  }
}

/** Signs in with a key that is sent once and kept nowhere. @param {HTMLFormElement} form */
async function signIn(form) {
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("key"));
  try {
    const drawn = await fetch("/v1/sign-in", {
      method: "POST", body: "{}", headers: { authorization: `Bearer ${field.value.trim()}`, "content-type": "application/json" },
    });
    const told = await drawn.json();
    if (!drawn.ok) throw new Problem(told, drawn.status);
    field.value = "";
    const code = new URL(told.url, location.href).searchParams.get("code");
    if (form.dataset.signIn === "go") {
      location.href = `/sign-in?code=${code}&next=${encodeURIComponent(new URLSearchParams(location.search).get("next") || "/")}`;
      return;
    }
    await fetch(`/sign-in?code=${code}`, { headers: { accept: "text/html" } });
    signedIn += 1;
    form.closest("dialog")?.close();
    document.dispatchEvent(new CustomEvent("signed-in"));
    toast("Signed in again.");
  } catch (error) {
    let said = one(".warn", form);
    if (!said) form.prepend((said = make("p", { class: "warn", role: "alert" })));
    said.textContent = error instanceof Problem ? error.message : "The server does not answer.";
  }
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.dataset.call) {
    event.preventDefault();
    submit(form);
  } else if (form.dataset.signIn) {
    event.preventDefault();
    signIn(form);
  }
});
