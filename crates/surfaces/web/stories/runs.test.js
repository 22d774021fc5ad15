// Agents at work: the text of a run as it is made, its steps, tokens and cost, and how to stop it.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, live, visit, shows, texts, until } from "./support.js";

let server, browser;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

const start = (thread) => server.call("POST", `/v1/threads/${thread.id}/runs`, { executor: "caller", agentId: "coder" });
const delta = (run, text) => server.call("POST", `/v1/runs/${run.id}/delta`, { text });
const step = (run, content, model) => server.call("POST", `/v1/runs/${run.id}/step`, { messages: [{ role: "assistant", content }], model });
const writing = (page, text) => until(page, (text) => document.querySelector(".writing .body")?.textContent === text, text);

test("text of a run is shown as it is made, and gives way to its message", async () => {
  const talk = await server.thread("Words as they come", "Say hello");
  const page = await browser.page(server);
  await visit(page, `${server.url}/t/${talk.shortId}`);
  await live(page);
  const run = await start(talk);
  await until(page, () => document.querySelector("#run-status")?.textContent.includes("coder is working"));
  await delta(run, "Hel");
  await delta(run, "lo *world*");
  await writing(page, "Hello *world*");
  // What streams is text: it is not markup, and nothing in it runs.
  await delta(run, "<img src=x onerror=window.pwned=1>");
  await writing(page, "Hello *world*<img src=x onerror=window.pwned=1>");
  await step(run, "Hello *world*");
  await until(page, () => document.querySelectorAll(".msg").length === 2 && !document.querySelector(".writing"));
  assert.equal(await page.$eval(".msg:last-of-type em", (found) => found.textContent), "world");
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  // The next step begins anew, also for a page that comes later.
  await delta(run, "And more");
  await writing(page, "And more");
  const other = await browser.page(server, { context: page.browserContext() });
  await visit(other, `${server.url}/t/${talk.shortId}`);
  await writing(other, "And more");
  await step(run, "And more words");
  await server.call("POST", `/v1/runs/${run.id}/end`, {});
  for (const each of [page, other]) {
    await until(each, () => document.querySelectorAll(".msg").length === 3 && !document.querySelector(".writing"));
    await until(each, () => document.querySelector("#send").textContent === "Send" && !document.querySelector("#working button"));
  }
  await other.close();
  await page.close();
  browser.calm();
});

test("a run is stopped from the page of the thread, and what it said is not lost", async () => {
  const talk = await server.thread("To be stopped", "Count to a million");
  const page = await browser.page(server);
  await visit(page, `${server.url}/t/${talk.shortId}`);
  await live(page);
  const run = await start(talk);
  await step(run, "One, two");
  await shows(page, "One, two");
  await page.waitForSelector("#working button");
  await page.click("#working button");
  await until(page, () => document.querySelector("#working")?.textContent.includes("stopping"));
  await server.call("POST", `/v1/runs/${run.id}/end`, { status: "stopped" });
  await until(page, () => !document.querySelector("#working a"));
  assert.equal((await server.call("GET", `/v1/runs/${run.id}`)).status, "stopped");
  await shows(page, "One, two");
  await page.close();
  browser.calm();
});

test("runs are listed with steps, tokens and cost, and a run shows its steps live", async () => {
  const talk = await server.thread("Work", "Go");
  const page = await browser.page(server);
  await visit(page, `${server.url}/t/${talk.shortId}/runs`);
  await shows(page, "No runs yet");
  await live(page);
  const run = await start(talk);
  await until(page, () => document.querySelector(".runs .row")?.textContent.includes("running"));
  await step(run, "One", { model: "large-2", usage: { inputTokens: 1_200, outputTokens: 34, costMicros: 5_600 }, firstResponseMs: 300, durationMs: 1_900 });
  await until(page, () => /1 step/.test(document.querySelector(".runs .row").textContent));
  const row = await page.$eval(".runs .row", (found) => found.textContent);
  assert.match(row, /1,234 tokens/);
  assert.match(row, /cost 0\.0056/);
  // By keyboard: to the run, and there another step arrives.
  await page.keyboard.press("j");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("o")]);
  assert.equal(new URL(page.url()).pathname, `/t/${talk.shortId}/runs/${run.id}`);
  assert.match(await page.$eval(".step", (found) => found.textContent), /large-2.*1,200 tokens in.*34 tokens out.*answered in 1\.9 s/);
  await live(page);
  await step(run, "Two", { model: "large-2", usage: { inputTokens: 1_300, outputTokens: 5 } });
  await until(page, () => document.querySelectorAll(".step").length === 2);
  await server.call("POST", `/v1/runs/${run.id}/end`, { status: "failed", reason: "step_error" });
  await until(page, () => document.querySelector("#run .state").textContent === "failed");
  assert.ok((await texts(page, "#run .tag")).includes("step error"));
  assert.equal(await page.$("#run button.danger"), null);
  // A step leads to the thread as it was.
  await Promise.all([page.waitForNavigation(), page.click(".step .head a")]);
  assert.match(new URL(page.url()).search, /^\?v=\d+$/);
  await visit(page, `${server.url}/t/${talk.shortId}/runs/${run.id.replace(/.$/, (last) => (last === "0" ? "1" : "0"))}`);
  await shows(page, "Not found");
  browser.trouble.splice(0);
  await page.close();
});
