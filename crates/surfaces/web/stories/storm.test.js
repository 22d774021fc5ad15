// A storm of entries: the page asks seldom, lays out seldom, and keeps its document small. It counts work, not time.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, live, visit, until } from "./support.js";

let server, browser;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

/** Batches of the storm, and messages in each. */
const BATCHES = 60, BATCH = 50;
/** Messages that enter the document in one frame. */
const SLICE = 100;
/** Layouts of such a frame: the change, the scroll to the end, what came into view by it, and room for the browser's own. */
const LAYOUTS_MAX = 5;

test("3,000 messages lead to few questions and few layouts, and none is lost or shown twice", async () => {
  const talk = await server.thread("Storm", "begin");
  const page = await browser.page(server);
  await visit(page, `${server.url}/t/${talk.shortId}`);
  await live(page);
  const cdp = await page.createCDPSession();
  await cdp.send("Performance.enable");
  const counted = async (name) => (await cdp.send("Performance.getMetrics")).metrics.find((one) => one.name === name).value;
  let tails = 0;
  page.on("request", (request) => (tails += request.url().includes("/tail?") ? 1 : 0));
  const layouts = await counted("LayoutCount");
  for (let batch = 0; batch < BATCHES; batch++) {
    const messages = Array.from({ length: BATCH }, (_, place) => ({ role: place % 2 ? "assistant" : "user", content: `storm ${batch * BATCH + place}` }));
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { messages });
  }
  const last = BATCHES * BATCH - 1;
  await until(page, (text) => document.querySelector("#log").textContent.includes(text), `storm ${last}`);
  await until(page, () => document.querySelector("#newer").hidden && document.querySelector(".talk").getBoundingClientRect().bottom <= innerHeight + 80);
  const spent = (await counted("LayoutCount")) - layouts;
  assert.ok(tails <= BATCHES + 1, `${tails} questions for ${BATCHES} batches`);
  const frames = tails + (BATCHES * BATCH) / SLICE;
  assert.ok(spent <= frames * LAYOUTS_MAX, `${spent} layouts for ${tails} answers`);
  const shown = await page.$$eval(".msg", (found) => found.map((one) => Number(one.dataset.index)));
  assert.ok(shown.length <= 1_050, `${shown.length} messages in the document`);
  assert.deepEqual(shown, shown.map((_, place) => shown[0] + place));
  assert.equal(shown.at(-1), last + 1);
  await page.close();
  browser.calm();
});
