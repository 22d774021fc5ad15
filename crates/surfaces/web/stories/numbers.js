// The numbers of the page, measured on this machine: paint, long threads, many threads, a storm of entries, a large family,
// memory. It prints them and judges nothing: machines differ.
import { readFileSync } from "node:fs";
import { Browser, Server, until } from "./support.js";

const server = await Server.start();
const browser = await Browser.start();
const told = {};
const now = () => performance.now();
const say = (name, value) => {
  told[name] = value;
  console.log(`${name}: ${value}`);
};

/** When the first content was painted, in milliseconds after the navigation began: the best of three. */
async function paint(page, path) {
  const all = [];
  for (let turn = 0; turn < 3; turn++) {
    await page.goto(server.url + path, { waitUntil: "load" });
    all.push(await page.evaluate(() => new Promise((done) => {
      const seen = performance.getEntriesByName("first-contentful-paint")[0];
      if (seen) return done(seen.startTime);
      new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true });
    })));
  }
  return Math.round(Math.min(...all));
}

/** Private memory of the largest renderer, in megabytes. */
async function tab() {
  const cdp = await browser.browser.target().createCDPSession();
  const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
  await cdp.detach();
  const bytes = processInfo.filter((one) => one.type === "renderer").map(({ id }) => {
    const rollup = readFileSync(`/proc/${id}/smaps_rollup`, "utf8");
    return ["Private_Dirty", "Private_Clean"].reduce((sum, name) => sum + Number(rollup.match(new RegExp(`${name}:\\s+(\\d+)`))[1]), 0);
  });
  return Math.round(Math.max(...bytes) / 1_024);
}

async function fill(thread, count) {
  const text = "A sentence of an ordinary length, with `code`, *emphasis* and a number.";
  for (let from = 0; from < count; from += 1_000) {
    const messages = Array.from({ length: Math.min(1_000, count - from) }, (_, place) => ({ role: place % 2 ? "assistant" : "user", content: `${from + place}: ${text}` }));
    await server.call("POST", `/v1/threads/${thread.id}/messages`, { messages });
  }
}

const page = await browser.page(server);
const small = await server.thread("Small", "a", "b");
say("paint of a small thread, ms", await paint(page, `/t/${small.shortId}`));
say("paint of the list, ms", await paint(page, "/"));

const ten = await server.thread("Ten thousand");
await fill(ten, 10_000);
say("paint of 10,000 messages, ms", await paint(page, `/t/${ten.shortId}`));
const hundred = await server.thread("A hundred thousand");
await fill(hundred, 100_000);
say("paint of 100,000 messages, ms", await paint(page, `/t/${hundred.shortId}`));
await until(page, () => document.querySelector("#live").dataset.state === "live");
const jumped = now();
await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
await until(page, () => {
  const seen = [...document.querySelectorAll(".msg")].find((one) => one.getBoundingClientRect().bottom > 100);
  return seen && seen.getBoundingClientRect().top < innerHeight && Number(seen.dataset.index) > 30_000 && Number(seen.dataset.index) < 70_000;
});
say("jump to the middle of 100,000, ms", Math.round(now() - jumped));

// 5,000 messages read one page after the other.
for (let turn = 0; turn < 60; turn++) {
  await page.evaluate(() => window.scrollBy(0, 6_000));
  await new Promise((done) => setTimeout(done, 60));
}
const client = await page.createCDPSession();
await client.send("HeapProfiler.collectGarbage");
const { usedSize } = await client.send("Runtime.getHeapUsage");
const nodes = (await client.send("Memory.getDOMCounters")).nodes;
say("memory of scripts after reading on, MB", Math.round(usedSize / 1e6));
say("nodes in the document", nodes);
say("memory of the largest tab, MB", await tab());

// A storm: 500 entries a second.
const storm = await server.thread("Storm", "begin");
await page.goto(`${server.url}/t/${storm.shortId}`, { waitUntil: "load" });
await until(page, () => document.querySelector("#live").dataset.state === "live");
await page.evaluate(() => {
  window.frames_ = [];
  let last = performance.now();
  const tick = (at) => {
    window.frames_.push(at - last);
    last = at;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
});
const SECONDS = Number(process.env.SECONDS ?? 20);
let sent = 0;
for (let second = 0; second < SECONDS * 10; second++) {
  const begun = now();
  const messages = Array.from({ length: 50 }, (_, place) => ({ role: "assistant", content: `storm ${sent + place}` }));
  await server.call("POST", `/v1/threads/${storm.id}/messages`, { messages });
  sent += 50;
  await new Promise((done) => setTimeout(done, Math.max(0, 100 - (now() - begun))));
}
await until(page, (text) => document.querySelector("#log").textContent.includes(text), `storm ${sent - 1}`);
const frames = await page.evaluate(() => window.frames_.slice(5).sort((a, b) => b - a).slice(0, 5).map(Math.round));
say(`longest frames in ${SECONDS} s of 500 entries a second, ms`, frames.join(" "));
say("messages in the document after the storm", await page.$$eval(".msg", (found) => found.length));

const root = await server.thread("Root", "a");
for (let made = 0; made < 999; made += 37) await Promise.all(Array.from({ length: Math.min(37, 999 - made) }, () => server.call("POST", `/v1/threads/${root.id}/fork`, { messageIndex: 0 })));
say("paint of a map of 1,000, ms", await paint(page, `/t/${root.shortId}/map`));

const many = Number(process.env.THREADS ?? 20_000);
for (let made = 0; made < many; made += 200) await Promise.all(Array.from({ length: 200 }, (_, place) => server.call("POST", "/v1/threads", { title: `Thread ${made + place}` })));
say(`paint of the list of ${many} threads, ms`, await paint(page, "/"));

const slow = await browser.page(server);
const cdp = await slow.createCDPSession();
await cdp.send("Network.enable");
await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 90_000 });
await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
await slow.setCacheEnabled(false);
say("paint of a small thread at 4x CPU and slow 4G, ms", await paint(slow, `/t/${small.shortId}`));
console.log(JSON.stringify(told));
await browser.stop();
await server.stop();
