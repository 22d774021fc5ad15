// Agents that this server runs: a message that is sent starts a run, and the page shows it from its first word to its end.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, live, visit, shows, texts, until } from "./support.js";

/** More words than a run says before the story stops it. */
const LONG = Array.from({ length: 5_000 }, (_, number) => `word${number}`).join(" ");

let server, browser;
before(async () => {
  const answers = [{ text: "You said: {{user}}" }, { text: LONG, pauseMs: 20 }];
  server = await Server.start(Server.folderWithAgent("helper", answers));
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

test("a new thread with an agent is answered; the next message starts a run that is seen live and stopped", async () => {
  const page = await browser.page(server);
  await page.keyboard.press("n");
  await page.keyboard.type("With an agent");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Hello there");
  await page.select("#new-thread [name=agentId]", "helper");
  await Promise.all([page.waitForNavigation(), page.click("#new-thread .primary")]);
  await shows(page, "You said: Hello there");
  await until(page, () => document.querySelector("#text").placeholder === "Say something to helper…");
  assert.deepEqual(await texts(page, ".msg .role"), ["user", "assistant"]);
  await live(page);
  await page.type("#text", "Count");
  await page.click("#send");
  await until(page, () => document.querySelector("#run-status")?.textContent === "helper is working");
  await until(page, () => document.querySelector(".writing .body")?.textContent.startsWith("word0 word1"));
  assert.equal(await page.$eval("#send", (button) => button.textContent), "Queue");
  assert.equal(await page.$eval("#text", (field) => field.placeholder), "Queued while helper works…");
  await page.click("#working button");
  await until(page, () => !document.querySelector(".writing") && document.querySelector("#send").textContent === "Send");
  // The text that was shown stays.
  await until(page, () => document.querySelectorAll(".msg").length === 4);
  const last = await page.$eval(".msg:last-of-type", (found) => found.textContent);
  assert.match(last, /given up.*word0 word1/s);
  const runs = (await server.call("GET", "/v1/runs")).items.map((run) => run.status);
  assert.deepEqual(runs, ["completed", "stopped"]);
  await page.close();
  browser.calm();
});

test("an agent is chosen for a thread that has none; before that, a message starts nothing", async () => {
  const talk = await server.thread("To be assigned", "a");
  const page = await browser.page(server);
  await visit(page, `${server.url}/t/${talk.shortId}`);
  await live(page);
  await page.type("#text", "Only kept");
  await page.click("#send");
  await until(page, () => document.querySelectorAll(".msg").length === 2);
  await page.click("#actions summary");
  await page.click("#actions [data-open=assign]");
  await page.type("#assign [name=agentId]", "helper");
  await Promise.all([page.waitForNavigation(), page.click("#assign .primary")]);
  assert.equal((await server.call("GET", `/v1/threads/${talk.id}/runs`)).items.length, 0);
  await live(page);
  await page.type("#text", "Now answer");
  await page.click("#send");
  await shows(page, "You said: Now answer");
  assert.equal((await server.call("GET", `/v1/threads/${talk.id}/runs`)).items.length, 1);
  // An agent of another executor is not run here: its messages are appended.
  await server.call("POST", `/v1/threads/${talk.id}/assign`, { agentId: "elsewhere" });
  await until(page, () => document.querySelector("#queue").dataset.to === "messages");
  await page.type("#text", "For another one");
  await page.click("#send");
  await until(page, () => document.querySelectorAll(".msg").length === 5);
  assert.equal((await server.call("GET", `/v1/threads/${talk.id}/queue`)).items.length, 0);
  await page.close();
  browser.calm();
});
