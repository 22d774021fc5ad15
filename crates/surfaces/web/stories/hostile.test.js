// Texts that try to run, to load, to break the page, or to stop it.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, until } from "./support.js";

const AWAY = "https://evil.example";
const PIECES = [
  "<script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>", `<img src=${AWAY}/a.png>`, `![a](${AWAY}/b.png)`, `![a][b]\n\n[b]: ${AWAY}/c.png`, `<iframe src=${AWAY}></iframe>`,
  "<svg onload=window.pwned=1>", "<body onload=window.pwned=1>", "<style>body{display:none}</style>", `<link rel=stylesheet href=${AWAY}/x.css>`, "<base href=//evil.example>", `<meta http-equiv=refresh content=0;url=${AWAY}>`,
  "[a](javascript:window.pwned=1)", "[a](JAVASCRIPT:window.pwned=1)", "[a](java\nscript:window.pwned=1)", "[a](data:text/html,<script>window.pwned=1</script>)", "[a](vbscript:x)", "[a](//evil.example)", "[a](/\\evil.example)",
  "<a href=javascript:window.pwned=1>a</a>", "<form action=/v1/threads method=post><button>x</button></form>", "<template><script>window.pwned=1</script></template>", "</article></section></main><script>window.pwned=1</script>",
  "<!--", "<![CDATA[", "<?php", "&#60;script&#62;", "&lt;script&gt;", "\u0000", "\u202Eright to left", "مرحبا بالعالم", "\uFEFF", "a\u0301".repeat(5_000), "🦀".repeat(5_000), "_a".repeat(40_000), "*".repeat(50_000), "[".repeat(50_000),
  ">".repeat(10_000), "- ".repeat(10_000), "`".repeat(50_000), "|".repeat(20_000), `${"|a".repeat(500)}|\n${"|-".repeat(500)}|\n`.repeat(20), "```\"><script>window.pwned=1</script>\nx\n```", "~~~js\nfetch('/v1/threads',{method:'DELETE'})\n~~~",
  "# ".repeat(1_000), "1. ".repeat(3_000), "a".repeat(500_000), "a".repeat(5_000_000), `${"word ".repeat(100_000)}`, "<div>".repeat(20_000), "</div>".repeat(20_000), "![](".repeat(20_000), "[a](".repeat(20_000), "<".repeat(50_000), "&".repeat(50_000), "\n".repeat(20_000),
];
const TEXTS = [...PIECES, ...PIECES.map((piece) => `> ${piece}`), ...PIECES.map((piece) => `- ${piece}`), ...PIECES.map((piece) => `**${piece}**`)];

let server, browser;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

test("hostile messages show as text: nothing runs, nothing is fetched, and the page stays whole", async () => {
  assert.ok(TEXTS.length >= 200, `${TEXTS.length} texts`);
  const page = await browser.page(server);
  const slow = [];
  for (const text of TEXTS) {
    const talk = await server.thread("Hostile", text);
    const begun = performance.now();
    await page.goto(`${server.url}/t/${talk.shortId}`, { waitUntil: "domcontentloaded" });
    const took = performance.now() - begun;
    if (took > 500) slow.push(`${Math.round(took)} ms: ${text.slice(0, 20)}`);
    const state = await page.evaluate(() => ({ pwned: Boolean(window.pwned), frame: Boolean(document.querySelector("#compose") && document.querySelector("#beside")), foreign: document.querySelectorAll("main iframe, main script, main style, main link, main object, main embed, .body img, .body form").length }));
    assert.deepEqual(state, { pwned: false, frame: true, foreign: 0 }, text.slice(0, 80));
  }
  if (slow.length) console.log(`slower than 500 ms: ${slow.join("; ")}`);
  browser.calm();
  await page.close();
});

test("a long text shows its beginning, and all of it when asked", async () => {
  const talk = await server.thread("Long", `begin ${"word ".repeat(60_000)}end`);
  const page = await browser.page(server);
  await page.goto(`${server.url}/t/${talk.shortId}`, { waitUntil: "load" });
  assert.ok((await page.$eval(".msg .body", (body) => body.textContent.length)) < 110_000);
  await Promise.all([page.waitForNavigation(), page.click(".msg .body a[href*=whole]")]);
  assert.match(await page.$eval(".msg .plain", (body) => body.textContent.slice(-3)), /end/);
  await page.close();
  browser.calm();
});

test("hostile titles, names, files and values show as text", async () => {
  const page = await browser.page(server);
  for (const text of PIECES.filter((piece) => piece.length < 200 && !piece.includes("\u0000") && !piece.includes("\n"))) {
    const talk = await server.thread(text, "x");
    await server.call("PUT", `/v1/threads/${talk.id}/files/${encodeURIComponent(text.replaceAll("/", "_").slice(0, 60))}.md`, text, { headers: { "content-type": "text/markdown" } });
    await server.call("PUT", `/v1/threads/${talk.id}/kv/k`, JSON.stringify(text));
    await server.call("POST", `/v1/threads/${talk.id}/checkpoint`, { name: text.slice(0, 60) });
    for (const path of ["/", `/t/${talk.shortId}`, `/t/${talk.shortId}/files`, `/t/${talk.shortId}/values`, `/t/${talk.shortId}/map`, `/search?q=${encodeURIComponent(text)}`]) {
      await page.goto(server.url + path, { waitUntil: "load" });
      const state = await page.evaluate(() => ({ pwned: Boolean(window.pwned), foreign: document.querySelectorAll("main iframe, main script, main style, main link, main img").length }));
      assert.deepEqual(state, { pwned: false, foreign: 0 }, `${path} ${text}`);
    }
  }
  await until(page, () => document.querySelector("#live").dataset.state === "live");
  browser.calm();
  await page.close();
});
