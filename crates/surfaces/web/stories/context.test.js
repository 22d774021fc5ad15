// What agents know: memories of the account, what a model saw of a thread, observers, and the marks of its history.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, live, visit, shows, texts, until } from "./support.js";

let server, browser;
before(async () => {
  server = await Server.start(Server.folderWithAgent("helper", [{ text: "You said: {{user}}" }]));
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

const go = (page, path) => visit(page, server.url + path);
const remembered = async () => (await server.call("GET", "/v1/memories")).items.map((memory) => memory.text);

test("memories are added, found, edited and forgotten on the page", async () => {
  await server.call("POST", "/v1/projects", { id: "garden", name: "Garden" });
  const page = await browser.page(server);
  await page.keyboard.press("g");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("m")]);
  await shows(page, "Nothing is remembered");
  await page.click("#adding summary");
  await page.type("#adding textarea", "Answers in German, with <b>metric</b> units.");
  await Promise.all([page.waitForNavigation(), page.click("#adding .primary")]);
  assert.deepEqual(await texts(page, ".memories .plain"), ["Answers in German, with <b>metric</b> units."]);
  // In a project, the form adds to that project.
  await Promise.all([page.waitForNavigation(), page.select(".filters [name=project]", "garden")]);
  assert.deepEqual(await texts(page, ".memories .plain"), []);
  await page.click("#adding summary");
  await page.type("#adding textarea", "The shade is deep.");
  await Promise.all([page.waitForNavigation(), page.click("#adding .primary")]);
  assert.deepEqual(await texts(page, ".memories .tag"), ["project Garden"]);
  await go(page, "/memories");
  assert.equal((await texts(page, ".memories .plain")).length, 2);
  await page.type(".filters [name=q]", "which language do we answer in");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.match((await texts(page, ".memories .plain"))[0], /German/);
  await page.click(".memories details summary");
  await page.$eval(".memories details textarea", (field) => (field.value = "Answers in French."));
  await Promise.all([page.waitForNavigation(), page.click(".memories details .primary")]);
  assert.deepEqual(await remembered(), ["Answers in French.", "The shade is deep."]);
  await go(page, "/memories");
  assert.ok((await texts(page, ".memories .tag")).includes("edited"));
  page.once("dialog", (dialog) => dialog.accept());
  await Promise.all([page.waitForNavigation(), page.click(".memories .danger")]);
  assert.deepEqual(await remembered(), ["The shade is deep."]);
  await page.close();
  browser.calm();
});

test("a thread tells what its model would see, and a run what it saw", async () => {
  await server.call("POST", "/v1/memories", { text: "The user grows ferns in deep shade." });
  const talk = await server.call("POST", "/v1/threads", { title: "Ferns", agentId: "helper" });
  const page = await browser.page(server);
  await go(page, `/t/${talk.shortId}`);
  await live(page);
  await page.type("#text", "Do ferns grow in deep shade?");
  await page.click("#send");
  await shows(page, "You said: Do ferns");
  await until(page, () => document.querySelector("#send").textContent === "Send");
  await go(page, `/t/${talk.shortId}/context`);
  await shows(page, "What the model would see now");
  assert.deepEqual(await texts(page, ".given .role"), ["user", "assistant"]);
  assert.match(await page.$eval(".given", (found) => found.textContent), /Do ferns grow in deep shade\?.*#0.*You said: Do ferns.*#1/s);
  const parts = (await texts(page, ".legend.parts li")).map((part) => part.replace(/ [\d,]+$/, ""));
  assert.deepEqual(parts, ["system prompt", "memories", "messages"]);
  assert.match(await page.$eval(".tree.large", (found) => found.textContent), /grows ferns in deep shade/);
  // It follows the thread.
  await live(page);
  await server.call("POST", `/v1/threads/${talk.id}/messages`, { role: "user", content: "And moss?" });
  await until(page, () => document.querySelectorAll(".given .role").length === 3);
  // From a run, to what its step saw: the question alone.
  await go(page, `/t/${talk.shortId}/runs`);
  await Promise.all([page.waitForNavigation(), page.click(".runs a.name")]);
  await Promise.all([page.waitForNavigation(), page.click(".step a[href*='/context?']")]);
  await shows(page, "What the model saw");
  assert.deepEqual(await texts(page, ".given .role"), ["user"]);
  await Promise.all([page.waitForNavigation(), page.click(".given a")]);
  assert.match(await page.$eval(".msg", (found) => found.textContent), /Do ferns grow/);
  await page.close();
  browser.calm();
});

test("a summary stands for what was cut, and the page says so", async () => {
  const talk = await server.thread("Long talk");
  const said = "A sentence of an ordinary length about parsers, gardens and tokens. ".repeat(60);
  for (let turn = 0; turn < 8; turn++) {
    const messages = Array.from({ length: 20 }, (_, place) => ({ role: place % 2 ? "assistant" : "user", content: `${turn}.${place} ${said}` }));
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { messages });
  }
  const page = await browser.page(server);
  await go(page, `/t/${talk.shortId}/context`);
  await shows(page, "Summary of what was cut");
  await shows(page, "picked from the messages");
  const told = await server.call("GET", `/v1/threads/${talk.id}/context`);
  assert.ok(told.cut > 0);
  assert.match(await page.$eval(".figures", (found) => found.textContent), new RegExp(`${told.cut} before them cut`));
  await page.close();
  browser.calm();
});

test("a thread observes another one, tells the secret of a webhook once, and stops", async () => {
  const talk = await server.thread("Watcher", "a");
  const other = await server.thread("Watched", "b");
  const page = await browser.page(server);
  await go(page, `/t/${talk.shortId}`);
  await page.click("#actions summary");
  await Promise.all([page.waitForNavigation(), page.click("#actions a[href$='/observers']")]);
  await shows(page, "It observes no thread");
  await live(page);
  await page.click("#observing summary");
  await page.type("#observing [name=target]", other.shortId);
  await page.click("#observing [value=done]");
  await page.type("#observing [name='deliver.webhook']", "http://127.0.0.1:1/hook");
  await page.click("#observing .primary");
  await until(page, () => !document.querySelector("#new-secret").hidden);
  assert.ok((await page.$eval("#new-secret code", (code) => code.textContent)).length > 10);
  await until(page, () => document.querySelector("#observers article")?.textContent.includes("Watched"));
  const [made] = (await server.call("GET", `/v1/threads/${talk.id}/observers`)).items;
  assert.deepEqual([made.events, made.target, made.deliver], [["done"], other.id, { webhook: "http://127.0.0.1:1/hook" }]);
  await go(page, `/t/${talk.shortId}`);
  assert.match(await page.$eval("#beside", (found) => found.textContent), /Observes1.*Watched.*done, to a webhook/s);
  await go(page, `/t/${talk.shortId}/observers`);
  await live(page);
  await page.click("#observers .danger");
  await shows(page, "It observes no thread");
  await page.close();
  browser.calm();
});

test("the slider marks checkpoints and rollbacks, and a mark leads to its version", async () => {
  const talk = await server.thread("Marked", "one", "two", "three");
  await server.call("POST", `/v1/threads/${talk.id}/checkpoint`, { name: "all three" });
  await server.call("POST", `/v1/threads/${talk.id}/rollback`, { version: 1 });
  await server.call("POST", `/v1/threads/${talk.id}/rollback`, { undo: true });
  await server.call("POST", `/v1/threads/${talk.id}/truncate`, { fromIndex: 2 });
  const page = await browser.page(server);
  await go(page, `/t/${talk.shortId}`);
  const marks = await page.$$eval("#marks option", (found) => found.map((one) => [one.value, one.label]));
  assert.deepEqual(marks, [["3", "all three"], ["5", "rolled back to v1"], ["6", "undone to v4"], ["7", "truncated"]]);
  await page.click(".marks summary");
  await Promise.all([page.waitForNavigation(), page.click(".marks a[href$='?v=5']")]);
  assert.deepEqual(await texts(page, ".msg .body"), ["one"]);
  await page.close();
  browser.calm();
});
