// The page holds together in other languages: texts that are 40 % longer, and right to left.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, live, visit } from "./support.js";
import { scene } from "./scene.js";

let server, browser, made;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
  made = await scene(server);
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

/** Makes every text of the page longer by 40 %, as a translation may. Code stays as it is. */
function lengthen() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) found.push(walker.currentNode);
  for (const text of found) {
    if (!/\p{L}{2}/u.test(text.data) || text.parentElement.closest("pre, code, textarea, script, style, svg, .body, template")) continue;
    text.data += ` ${text.data.trim().slice(0, Math.ceil(text.data.trim().length * 0.4))}`;
  }
}

/** What leaves the window, or does not fit into its place. */
function broken() {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const found = wide > 0 ? [`${wide} px too wide`] : [];
  for (const one of document.querySelectorAll("button, a.button, input, select, textarea, h1, h2")) {
    const box = one.getBoundingClientRect();
    if (!box.width || !one.checkVisibility() || one.closest(".scroll, .tabs, dialog:not([open]), .hidden, .skip")) continue;
    if (box.left < -1 || box.right > innerWidth + 1) found.push(`${one.tagName} ${one.textContent.trim().slice(0, 30)} leaves the window`);
    if (one.matches("button, a.button") && one.scrollWidth > one.clientWidth + 2) found.push(`${one.textContent.trim().slice(0, 30)} is cut`);
  }
  return found;
}

for (const [name, change] of [["with texts that are 40 % longer", lengthen], ["right to left", () => (document.documentElement.dir = "rtl")]]) {
  test(`every screen fits ${name}`, async () => {
    const short = made.ship.shortId;
    const screens = [
      "/", "/inbox", "/search?q=parser", "/memories", "/projects", "/settings", "/import", `/t/${short}`, `/t/${short}?v=5`, `/t/${short}?view=entries`, `/t/${short}/map`, `/t/${short}/files`,
      `/t/${short}/files/src/cart.rs`, `/t/${short}/values`, `/t/${short}/context`, `/t/${short}/observers`, `/t/${short}/runs`, `/t/${short}/runs/${made.run.id}`, `/t/${short}/compare?with=${made.fork.shortId}`, `/t/${short}/merge?source=${made.fork.shortId}`, `/t/${short}?preview=visitor`,
    ];
    const found = [];
    for (const width of [1280, 320]) {
      const page = await browser.page(server, { width });
      for (const path of screens) {
        await visit(page, server.url + path);
        if (!path.includes("preview")) await live(page);
        await page.evaluate(change);
        found.push(...(await page.evaluate(broken)).map((what) => `${path} at ${width}: ${what}`));
        const menu = await page.$("#actions summary");
        if (!menu) continue;
        await page.$eval("#actions", (menu) => (menu.open = true));
        found.push(...(await page.evaluate(broken)).map((what) => `menu of ${path} at ${width}: ${what}`));
      }
      await page.close();
    }
    assert.deepEqual(found, []);
    browser.calm();
  });
}
