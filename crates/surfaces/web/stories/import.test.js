// Files of other agents, and exports, dropped on the page: tried first, then imported.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser, Server, live, visit, shows, until } from "./support.js";

const SESSION = new URL("./look-session.jsonl", import.meta.url).pathname;
let server, browser, folder;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
  folder = mkdtempSync(join(tmpdir(), "threadkeep-import-"));
});
after(async () => {
  await browser?.stop();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const outcome = (page, pattern) => until(page, (pattern) => new RegExp(pattern).test(document.querySelector(".importing .outcome")?.textContent ?? ""), pattern);
const choose = async (page, ...files) => (await page.$("#import-files")).uploadFile(...files);
const count = async (of = server) => (await of.call("GET", "/v1/threads")).items.length;

test("a transcript is tried, then imported, and a second time adds nothing", async () => {
  const page = await browser.page(server);
  await visit(page, `${server.url}/settings`);
  await Promise.all([page.waitForNavigation(), page.click("a[href='/import']")]);
  await live(page);
  await choose(page, SESSION);
  await outcome(page, "^This would add: 1 new thread, 2 messages, 1 skipped");
  assert.equal(await page.$eval(".importing select", (found) => found.value), "claude-code");
  assert.match(await page.$eval(".importing details", (found) => found.textContent), /look-session\.jsonl:3: not JSON/);
  assert.equal(await count(), 0, "nothing is written before the reader says so");
  await page.click(".importing button");
  await outcome(page, "^Imported: 1 new thread, 2 messages");
  assert.equal(await count(), 1);
  await choose(page, SESSION);
  await until(page, () => document.querySelectorAll(".importing").length === 2);
  await outcome(page, "Nothing to do");
  assert.ok(await page.$eval(".importing button", (button) => button.disabled));
  await Promise.all([page.waitForNavigation(), page.click(".importing:last-of-type .outcome a")]);
  await shows(page, "Fix the parser");
  await page.close();
  browser.calm();
});

test("an export of another server is dropped, tried and imported", async () => {
  const other = await Server.start();
  await other.thread("From elsewhere", "Hello");
  const path = join(folder, "export.jsonl");
  writeFileSync(path, await (await fetch(`${other.url}/v1/admin/export`, { headers: { authorization: `Bearer ${other.ready.apiKey}` } })).text());
  await other.stop();
  const before = await count();
  const page = await browser.page(server);
  await visit(page, `${server.url}/import`);
  await live(page);
  // Dropped, as a person drops it.
  const text = (await import("node:fs")).readFileSync(path, "utf8");
  await page.evaluate((text) => {
    const held = new DataTransfer();
    held.items.add(new File([text], "export.jsonl"));
    document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
  }, text);
  await outcome(page, "^This would add: 1 new thread");
  assert.equal(await count(), before);
  await page.click(".importing button");
  await outcome(page, "^Imported: 1 new thread");
  assert.equal(await count(), before + 1);
  await page.close();
  browser.calm();
});

test("a file that cannot be read is refused with a reason, and an unknown one asks for its agent", async () => {
  const path = join(folder, "export-cut-off.jsonl");
  writeFileSync(path, '{"threadkeep":"export","version":1}\n');
  const unknown = join(folder, "notes.txt");
  writeFileSync(unknown, "a shopping list");
  const page = await browser.page(server);
  page.expected = ["400", "/v1/admin/import", "422"];
  await visit(page, `${server.url}/import`);
  await live(page);
  await choose(page, path);
  await until(page, () => document.querySelector(".importing .outcome.warn")?.textContent.length > 10);
  assert.ok(await page.$eval(".importing button", (button) => button.disabled));
  await choose(page, unknown);
  await outcome(page, "Choose the agent");
  await page.close();
  browser.calm();
});

test("a key that may only read is told so", async () => {
  const { key } = await server.call("POST", "/v1/keys", { account: "local", scope: "read", name: "reader" });
  const { url } = await server.call("POST", "/v1/sign-in", {}, { key });
  const context = await browser.browser.createBrowserContext();
  const page = await browser.page(server, { context });
  await visit(page, url);
  await visit(page, `${server.url}/import`);
  await live(page);
  await shows(page, "Your key may only read");
  await context.close();
  browser.calm();
});
