// Import: each file is tried as soon as its format is known, and imported when the reader says so.
// @ts-check
import { Problem } from "./call.js";
import { all, make, one, open } from "./dom.js";

/** Bytes of a file that its format is guessed from. */
const LOOKED_AT = 8_192;

/** What tells a format: its name on the server, and a sign in the name of the file or in its beginning. @type {[string, RegExp, RegExp][]} */
const SIGNS = [
  ["export", /^$/, /^\{"threadkeep":"export"/],
  ["chatgpt", /(^|\/)conversations.*\.json$|\.zip$/i, /"mapping"\s*:/],
  ["codex", /^rollout-/i, /"type":"session_meta"|"record_type":"state"/],
  ["claude-code", /^$/, /"parentUuid"/],
  ["gemini-cli", /^$/, /"projectHash"/],
  ["opencode", /opencode/i, /"id"\s*:\s*"ses_/],
  ["goose", /goose/i, /"working_dir"/],
  ["cline", /api_conversation_history|_messages\.json$/i, /^$/],
  ["zed", /threads\.db$|zed/i, /^$/],
  ["amp", /^T-.*\.json$/i, /"id"\s*:\s*"T-[0-9a-f-]+"/],
  ["pi", /^$/, /^\{"type":"session"/],
  ["langgraph", /langgraph|checkpoint/i, /^$/],
];

/** @param {File} file */
async function guess(file) {
  const start = await file.slice(0, LOOKED_AT).text();
  return SIGNS.find(([, name, text]) => (name.source !== "^$" && name.test(file.name)) || (text.source !== "^$" && text.test(start)))?.[0] ?? "";
}

/** Sends a file, and tells how much of it was sent. @param {string} path @param {File} file @param {(part: number) => void} tell @returns {Promise<any>} */
function send(path, file, tell) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.responseType = "text";
    request.upload.onprogress = (event) => event.lengthComputable && tell(event.loaded / event.total);
    request.onerror = () => failed(new Problem({ detail: "The server does not answer.", hint: "Choose the file again in a moment." }, 0));
    request.onload = () => {
      /** @type {any} */
      let told = {};
      try {
        told = JSON.parse(request.responseText);
      } catch {
        // Not an answer of this server: the status says what is to be said.
      }
      if (request.status < 300) done(told);
      else failed(new Problem(told, request.status));
    };
    request.send(file);
  });
}

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** What an import did, or would do. @param {any} told @param {boolean} isDry */
function said(told, isDry) {
  const parts = [`${counted(told.threads, "new thread")}`];
  if (told.branches) parts.push(counted(told.branches, "fork"));
  if (told.messages !== undefined) parts.push(counted(told.messages, "message"));
  if (told.edited) parts.push(`${told.edited} edited`);
  if (told.known) parts.push(`${told.known.toLocaleString("en")} already here`);
  if (told.deleted) parts.push(`${told.deleted} deleted here before`);
  if (told.skipped) parts.push(`${told.skipped} skipped`);
  return `${isDry ? "This would add" : "Imported"}: ${parts.join(", ")}.`;
}

/** @param {File} file */
async function take(file) {
  const template = /** @type {HTMLTemplateElement} */ (one("#import-row"));
  const row = /** @type {HTMLElement} */ (/** @type {DocumentFragment} */ (template.content.cloneNode(true)).firstElementChild);
  const [name, size] = [one("bdi", row), one(".small", row)];
  if (name) name.textContent = file.name;
  if (size) size.textContent = file.size < 1_048_576 ? `${Math.ceil(file.size / 1_024)} KB` : `${(file.size / 1_048_576).toFixed(1)} MB`;
  const source = /** @type {HTMLSelectElement} */ (one("select", row));
  const button = /** @type {HTMLButtonElement} */ (one("button", row));
  const bar = /** @type {HTMLProgressElement} */ (one("progress", row));
  const outcome = /** @type {HTMLElement} */ (one(".outcome", row));
  const skipped = /** @type {HTMLElement} */ (one("details", row));
  one("#import-list")?.prepend(row);

  /** @param {boolean} isDry */
  async function run(isDry) {
    button.disabled = source.disabled = true;
    outcome.className = "outcome";
    outcome.textContent = isDry ? "Trying…" : "Importing…";
    bar.hidden = false;
    bar.value = 0;
    const query = source.value === "export" ? "" : `&source=${encodeURIComponent(source.value)}&name=${encodeURIComponent(file.name)}`;
    const path = `${source.value === "export" ? "/v1/admin/import" : "/v1/import"}?dryRun=${isDry}${query}`;
    try {
      const told = await send(path, file, (part) => (bar.value = part));
      outcome.textContent = said(told, isDry);
      const list = one("ul", skipped);
      list?.replaceChildren(...(told.problems ?? []).map((/** @type {string} */ text) => make("li", { dir: "auto" }, text)));
      skipped.hidden = !told.problems?.length;
      const adds = told.threads || told.messages || told.edited || told.branches;
      button.disabled = !isDry || !adds;
      if (isDry && !adds) outcome.textContent += " Nothing to do.";
      if (!isDry) outcome.append(" ", make("a", { href: source.value === "export" ? "/" : `/?tag=${encodeURIComponent(source.value)}` }, "Show the threads"));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      outcome.classList.add("warn");
      outcome.textContent = [error.message, error.hint].filter(Boolean).join(" ");
      if (error.status === 401) open("signin");
    } finally {
      bar.hidden = true;
      source.disabled = false;
    }
  }

  source.onchange = () => source.value && run(true);
  button.onclick = () => run(false);
  const found = await guess(file);
  if ([...source.options].some((option) => option.value === found)) source.value = found;
  if (source.value) await run(true);
  else outcome.textContent = "Choose the agent that wrote it.";
}

const zone = one(".drop");
const field = /** @type {HTMLInputElement | null} */ (one("#import-files"));

/** @param {FileList | null | undefined} files */
async function takeAll(files) {
  for (const file of [...(files ?? [])]) await take(file);
}

field?.addEventListener("change", async () => {
  await takeAll(field.files);
  field.value = "";
});
for (const name of ["dragover", "dragleave", "drop"]) {
  zone?.addEventListener(name, (event) => {
    event.preventDefault();
    zone.toggleAttribute("data-over", name === "dragover");
    if (name === "drop") takeAll(/** @type {DragEvent} */ (event).dataTransfer?.files);
  });
}
// A file that misses the place must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
window.addEventListener("beforeunload", (event) => all("#import-list progress:not([hidden])").length && event.preventDefault());
