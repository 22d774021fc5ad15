// The real program and a real browser. Every page is watched: requests to elsewhere, refusals of the browser's policy and
// errors on the console fail the story.
import { spawn, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const BINARY = process.env.THREADKEEP_BINARY;
const CHROMIUM = process.env.CHROMIUM ?? "chromium";
if (!BINARY) throw new Error("Set THREADKEEP_BINARY to the program that the stories run.");

/** Where Chromium is. A machine without it fails here: stories are never skipped. */
function chromium() {
  if (CHROMIUM.includes("/")) return CHROMIUM;
  return execFileSync("sh", ["-c", `command -v ${CHROMIUM}`], { encoding: "utf8" }).trim();
}

/** A server with a folder of its own. */
export class Server {
  static async start(folder = mkdtempSync(join(tmpdir(), "threadkeep-page-")), listen = "127.0.0.1:0") {
    const server = new Server();
    server.folder = folder;
    server.process = spawn(BINARY, ["serve", "--data", folder, "--listen", listen, "--json"], { stdio: ["ignore", "pipe", "ignore"] });
    const lines = createInterface({ input: server.process.stdout });
    server.ready = await new Promise((done, failed) => {
      const late = setTimeout(() => failed(new Error("the server did not start within 30 s")), 30_000);
      lines.once("line", (line) => {
        clearTimeout(late);
        done(JSON.parse(line));
      });
      server.process.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
    });
    server.url = server.ready.url;
    return server;
  }

  /** A folder with an agent whose model plays a script. */
  static folderWithAgent(name, answers) {
    const folder = mkdtempSync(join(tmpdir(), "threadkeep-page-"));
    const files = {
      [`agents/${name}.toml`]: `type = "ai_human"\n[sideA]\nprompt = "${name}"\n`,
      [`prompts/${name}.toml`]: `prompt = "You are terse."\nmodel = "${name}"\n`,
      [`models/${name}.toml`]: `provider = "script"\nmodel = "scripts/${name}.json"\n`,
      [`scripts/${name}.json`]: JSON.stringify({ answers, repeat: true }),
    };
    for (const [path, text] of Object.entries(files)) {
      const place = join(folder, "definitions", path);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, text);
    }
    return folder;
  }

  /** Ends it as a power cut would. */
  async kill() {
    const ended = new Promise((done) => this.process.once("exit", done));
    this.process.removeAllListeners("exit");
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.kill("SIGKILL");
    await Promise.race([ended, gone]);
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Asks as the owner. */
  async call(method, path, body, { key = this.ready.apiKey, headers = {} } = {}) {
    const json = typeof body === "string" ? body : JSON.stringify(body ?? {});
    const sent = method === "GET" || method === "DELETE" ? undefined : json;
    const answer = await fetch(this.url + path, { method, body: sent, signal: AbortSignal.timeout(60_000), headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers } });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  }

  /** A link that signs in once. */
  async link() {
    return (await this.call("POST", "/v1/sign-in")).url;
  }

  async thread(title, ...messages) {
    const said = messages.map((content, place) => ({ role: place % 2 ? "assistant" : "user", content }));
    return this.call("POST", "/v1/threads", { title, messages: said });
  }
}

/** A browser, and pages that are watched. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.trouble = [];
    browser.browser = await puppeteer.launch({
      executablePath: chromium(),
      args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-features=Translate", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
    });
    return browser;
  }

  /** A page of a browser that is signed in. */
  async page(server, { width = 1280, height = 900, theme = "light", context } = {}) {
    const own = context ?? (await this.browser.createBrowserContext());
    const page = await own.newPage();
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" }]);
    this.watch(page, server);
    if (!context) await page.goto(await server.link(), { waitUntil: "load" });
    return page;
  }

  watch(page, server) {
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(server.url) && !url.startsWith(server.url.replace("http", "ws")) && !url.startsWith("blob:")) this.trouble.push(`request to ${url}`);
    });
    page.on("console", (message) => {
      const text = message.text();
      const expected = page.expected?.some((part) => text.includes(part) || message.location().url?.includes(part));
      if (["error", "assert"].includes(message.type()) && !expected) this.trouble.push(`console on ${page.url()}: ${text} ${message.location().url ?? ""}`);
    });
    page.on("pageerror", (error) => this.trouble.push(`error on ${page.url()}: ${error.stack ?? error}`));
    page.evaluateOnNewDocument(() => {
      document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
  }

  /** Fails if a page met trouble. */
  calm() {
    const trouble = this.trouble.splice(0);
    assert.deepEqual(trouble, []);
  }

  async stop() {
    await this.browser.close();
  }
}

/** The serious findings of axe on a page. */
export async function axe(page) {
  // The tool is injected by the test, past the page's policy.
  const source = (await import("node:fs")).readFileSync(AXE, "utf8");
  const client = await page.createCDPSession();
  await client.send("Runtime.evaluate", { expression: source });
  const { result } = await client.send("Runtime.evaluate", {
    expression: "axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`)))",
    awaitPromise: true,
  });
  await client.detach();
  return JSON.parse(result.value);
}

/** Waits until a condition holds in the page. */
export const until = (page, condition, ...values) => page.waitForFunction(condition, { polling: 50, timeout: 60_000 }, ...values);

/** Opens an address, and waits until the page listens: a key that comes earlier is lost. */
export async function visit(page, url) {
  const answer = await page.goto(url, { waitUntil: "load" });
  await until(page, () => document.querySelector("#live")?.dataset.state !== "wait");
  return answer;
}

/** The texts of all that a selector finds. */
export const texts = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent.trim()));

/** Waits until the content of the page holds a text. */
export const shows = (page, text) => until(page, (text) => document.querySelector("main").textContent.includes(text), text);

/** Waits until the page follows changes. */
export const live = (page) => until(page, () => document.querySelector("#live").dataset.state === "live");
