// What people do on the page, with the real program and a real browser.
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { Browser, Server, axe, live, visit, shows, texts, until } from "./support.js";
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

const go = (page, path) => visit(page, server.url + path);

describe("a reader", () => {
  test("signs in by the link, filters the list, opens a thread, and answers it", async () => {
    const page = await browser.page(server);
    assert.equal(new URL(page.url()).pathname, "/");
    assert.ok((await texts(page, ".rows a.name")).includes("Ship the parser"));
    await page.type("input[name=title]", "Garden");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.deepEqual(await texts(page, ".rows a.name"), ["Garden in the shade"]);
    const talk = await server.thread("A talk", "Hello");
    await go(page, `/t/${talk.shortId}`);
    await live(page);
    await page.type("#text", "From the **page**");
    await until(page, () => document.querySelector("#kept").textContent === "Draft kept");
    assert.equal((await server.call("GET", `/v1/threads/${talk.id}`)).draft, "From the **page**");
    await page.click("#send");
    await until(page, () => document.querySelector(".msg:last-of-type strong")?.textContent === "page");
    assert.equal(await page.$eval("#text", (field) => field.value), "");
    // Another client writes: the page shows it without a reload.
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { role: "assistant", content: "Live answer" });
    await shows(page, "Live answer");
    assert.equal((await texts(page, ".msg .body")).length, 3);
    await until(page, () => document.querySelector("#spoken").textContent.includes("Live answer"));
    // A tool call and its result, which comes later, are one line.
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { role: "assistant", content: [{ type: "tool_use", id: "c", name: "look", input: { path: "/a" } }] });
    await until(page, () => document.querySelector('.tool[data-state=waiting]'));
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { role: "tool", content: [{ type: "tool_result", toolUseId: "c", content: "found it", isError: false }] });
    await until(page, () => document.querySelector('.tool[data-state=done]')?.textContent.includes("found it"));
    // What was taken back is gone from the screen.
    await server.call("POST", `/v1/threads/${talk.id}/truncate`, { fromIndex: 1 });
    await until(page, () => document.querySelectorAll(".msg").length === 1);
    await page.close();
    browser.calm();
  });

  test("queues a message while a run is open, and stops the run", async () => {
    const talk = await server.thread("At work", "Go");
    const page = await browser.page(server);
    await go(page, `/t/${talk.shortId}`);
    await live(page);
    await server.call("POST", `/v1/threads/${talk.id}/runs`, { executor: "caller" });
    await until(page, () => document.querySelector("#send").textContent === "Queue");
    await page.type("#text", "And then?");
    await page.click("#send");
    await until(page, () => document.querySelector("#queue").textContent.includes("And then?"));
    await page.click("#working button");
    await until(page, () => document.querySelector("#send").textContent === "Send");
    await page.close();
    browser.calm();
  });

  test("forks by keyboard alone, from the message in focus", async () => {
    const page = await browser.page(server);
    await go(page, `/t/${made.ship.shortId}`);
    await live(page);
    await page.keyboard.press("[");
    await page.keyboard.press("[");
    await page.keyboard.press("f");
    await until(page, () => document.querySelector("#fork").open);
    await page.keyboard.type("Forked by keys");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.equal(await page.$eval("h1", (title) => title.textContent.trim()), "Forked by keys");
    assert.notEqual(new URL(page.url()).pathname, `/t/${made.ship.shortId}`);
    assert.ok((await texts(page, ".kin .kind")).includes("forked from"));
    await page.close();
    browser.calm();
  });

  test("searches by keyboard, and opens a hit at its message", async () => {
    const page = await browser.page(server);
    await page.keyboard.press("g");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("s")]);
    await page.focus("main input[type=search]");
    await page.keyboard.type("which parser measure");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.ok((await texts(page, ".hits mark")).length > 0);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("j");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("o")]);
    await until(page, () => document.querySelector(".msg.marked"));
    assert.match(await page.$eval(".msg.marked", (found) => found.textContent), /parser/);
    await page.close();
    browser.calm();
  });

  test("reads the past, rolls back, and undoes it", async () => {
    const talk = await server.thread("In time", "one", "two", "three");
    const page = await browser.page(server);
    await go(page, `/t/${talk.shortId}`);
    await page.focus("#as-of");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("ArrowLeft")]);
    assert.equal(new URL(page.url()).search, "?v=2");
    assert.equal((await texts(page, ".msg")).length, 2);
    assert.ok(await page.$eval("#compose", (found) => found.hidden));
    await page.click(".slider [data-open=rollback]");
    await Promise.all([page.waitForNavigation(), page.click("#rollback .primary")]);
    assert.equal((await texts(page, ".msg")).length, 2);
    await page.click("#actions summary");
    await page.click("#actions [data-open=rollback]");
    await Promise.all([page.waitForNavigation(), page.click("#rollback form:last-of-type button")]);
    assert.equal((await texts(page, ".msg")).length, 3);
    await page.close();
    browser.calm();
  });

  test("approves by keyboard, and the other tab sees it", async () => {
    const first = await browser.page(server);
    const second = await browser.page(server, { context: first.browserContext() });
    await go(first, "/inbox");
    await go(second, "/inbox");
    await live(first);
    await live(second);
    const waiting = (await texts(first, ".approval")).length;
    assert.equal(waiting, 2);
    await first.keyboard.press("j");
    await first.keyboard.press("a");
    await until(first, (count) => document.querySelectorAll(".approval").length === count, waiting - 1);
    await until(second, (count) => document.querySelectorAll(".approval").length === count, waiting - 1);
    await until(second, () => document.querySelector("#waiting span").textContent === "1");
    const answered = await server.call("GET", `/v1/approvals/${made.approval.approvalId}`);
    const other = await server.call("GET", "/v1/approvals?state=pending");
    assert.equal(other.items.length, 1);
    assert.ok(["approved", "pending"].includes(answered.state));
    await first.close();
    await second.close();
    browser.calm();
  });

  test("two tabs answer one approval: one wins, the other is told", async () => {
    const key = { key: made.agent.key };
    const { approvalId } = await server.call("POST", `/v1/threads/${made.ship.id}/transfer`, { direction: "request_approval", scope: ["publish"] }, key);
    const first = await browser.page(server);
    const second = await browser.page(server, { context: first.browserContext() });
    for (const page of [first, second]) {
      page.expected = ["409", `/v1/approvals/${approvalId}`];
      await go(page, "/inbox");
      await page.waitForSelector(`#a-${approvalId}`);
    }
    // Both press at the same moment, before either hears of the other.
    await Promise.all([
      first.$eval(`#a-${approvalId} .primary`, (button) => button.click()),
      second.$eval(`#a-${approvalId} .danger`, (button) => button.click()),
    ]);
    for (const page of [first, second]) await until(page, (id) => !document.getElementById(`a-${id}`), approvalId);
    const { state } = await server.call("GET", `/v1/approvals/${approvalId}`);
    assert.ok(["approved", "denied"].includes(state));
    const toasts = [...(await texts(first, ".toast")), ...(await texts(second, ".toast"))];
    assert.equal(toasts.filter((text) => /^(Approved|Denied)/.test(text)).length, 1, toasts.join());
    await first.close();
    await second.close();
    browser.calm();
  });

  test("merges by keyboard, with a choice for each conflict", async () => {
    const page = await browser.page(server);
    await go(page, `/t/${made.ship.shortId}/merge?source=${made.fork.shortId}`);
    const conflicts = (await texts(page, ".conflict")).length;
    assert.equal(conflicts, 2);
    assert.ok(await page.$eval("#merge-now", (button) => button.disabled));
    assert.match(await page.$eval(".conflict .sides", (found) => found.textContent), /by_hand[\s\S]*generated/);
    await page.keyboard.press("t");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("o");
    await until(page, () => !document.querySelector("#merge-now").disabled);
    await page.focus("#merge-now");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    const file = await server.call("GET", `/v1/threads/${made.ship.id}/files/src/cart.rs`);
    const value = await server.call("GET", `/v1/threads/${made.ship.id}/kv/mulch`);
    assert.match(file, /generated/);
    assert.equal(value.value, "gravel");
    await go(page, `/t/${made.ship.shortId}/map`);
    assert.equal((await page.$$(".edge[data-kind=merge]")).length, 1);
    await page.close();
    browser.calm();
  });

  test("merges from the menu of a thread, and takes it back with one click", async () => {
    const talk = await server.thread("To merge into", "a");
    const fork = await server.call("POST", `/v1/threads/${talk.id}/fork`, { messageIndex: 0, title: "With a file" });
    await server.call("PUT", `/v1/threads/${fork.id}/files/new.txt`, "new\n", { headers: { "content-type": "text/plain" } });
    const page = await browser.page(server);
    await go(page, `/t/${talk.shortId}`);
    await live(page);
    await page.click("#actions summary");
    await Promise.all([page.waitForNavigation(), page.click("#actions a[href$='/merge']")]);
    await Promise.all([page.waitForNavigation(), page.click(".relatives a.name")]);
    await live(page);
    await Promise.all([page.waitForNavigation(), page.click("#merge-now")]);
    await page.waitForSelector(".toast .does");
    assert.equal(new URL(page.url()).search, "");
    await shows(page, "new.txt");
    await Promise.all([page.waitForNavigation(), page.click(".toast .does")]);
    assert.equal(await page.$eval("#beside", (found) => found.textContent.includes("new.txt")), false);
    await page.close();
    browser.calm();
  });

  test("compares two threads of the map by keyboard", async () => {
    const talk = await server.thread("Two ways", "Which way?", "Left.");
    const fork = await server.call("POST", `/v1/threads/${talk.id}/fork`, { messageIndex: 0, title: "The other way" });
    await server.call("POST", `/v1/threads/${fork.id}/messages`, { role: "assistant", content: "Right." });
    await server.call("PUT", `/v1/threads/${talk.id}/files/way.txt`, "to the left\n", { headers: { "content-type": "text/plain" } });
    await server.call("PUT", `/v1/threads/${fork.id}/files/way.txt`, "to the right\n", { headers: { "content-type": "text/plain" } });
    await server.call("PUT", `/v1/threads/${fork.id}/kv/way`, '"right"');
    const page = await browser.page(server);
    await go(page, `/t/${talk.shortId}/map`);
    await live(page);
    await page.keyboard.press("j");
    await page.keyboard.press("c");
    await until(page, () => document.querySelector("#picked").textContent.includes("Two ways"));
    await page.keyboard.press("ArrowDown");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("c")]);
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, `/t/${talk.shortId}/compare?with=${fork.shortId}`);
    assert.match(await page.$eval(".thread > .facts", (found) => found.textContent), /share the first 1 message\..*1 file and 1 value differ/);
    assert.deepEqual(await texts(page, ".pair section .msg .body"), ["Left.", "Right."]);
    await page.click(".thread > .fold summary");
    assert.deepEqual(await texts(page, ".dd, .di"), ["-to the left", "+to the right"]);
    assert.match(await page.$eval(".compared tbody", (found) => found.textContent), /way\s*none\s*"right"/);
    await Promise.all([page.waitForNavigation(), page.click(".thread > .facts a")]);
    assert.match(await page.$eval(".msg.marked", (found) => found.textContent), /Which way\?/);
    await page.close();
    browser.calm();
  });

  test("sees files with their versions and differences, and refuses to overwrite a value it has not seen", async () => {
    const page = await browser.page(server);
    await go(page, `/t/${made.ship.shortId}/files/src/cart.rs`);
    await Promise.all([page.waitForNavigation(), page.click(".versions a.small")]);
    assert.ok((await texts(page, ".di")).length > 0);
    await go(page, `/t/${made.ship.shortId}/files?grep=straw`);
    assert.deepEqual(await texts(page, ".hit h2 a"), ["/notes.md"]);
    await go(page, `/t/${made.ship.shortId}/values`);
    await page.click(".values summary");
    await server.call("PUT", `/v1/threads/${made.ship.id}/kv/budget`, "1");
    page.expected = ["412", "/kv/budget"];
    await page.$eval(".values textarea", (field) => (field.value = "2"));
    await page.click(".values .primary");
    await until(page, () => document.querySelector(".toast.bad"));
    assert.equal(await page.$eval(".values textarea", (field) => field.value), "2");
    assert.equal((await server.call("GET", `/v1/threads/${made.ship.id}/kv/budget`)).value, 1);
    await page.close();
    browser.calm();
  });

  test("finds and does everything from the palette, and makes a thread and a key", async () => {
    const page = await browser.page(server);
    await page.keyboard.down("Control");
    await page.keyboard.press("k");
    await page.keyboard.up("Control");
    await page.waitForSelector("#palette-list li");
    await page.keyboard.type("Garden");
    await until(page, () => document.querySelector("#palette-list li span")?.textContent.includes("Garden in the shade"));
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.match(await page.$eval("h1", (title) => title.textContent), /Garden/);
    await page.keyboard.press("n");
    await page.keyboard.type("Made here");
    await page.keyboard.press("Tab");
    await page.keyboard.type("First words");
    await Promise.all([page.waitForNavigation(), page.click("#new-thread .primary")]);
    assert.deepEqual(await texts(page, ".msg .body"), ["First words"]);
    await go(page, "/settings");
    await page.click(".card details summary");
    await page.type("[data-call='POST /v1/keys'] [name=name]", "ci");
    await page.click("[data-call='POST /v1/keys'] .primary");
    await until(page, () => !document.querySelector("#new-key").hidden);
    const key = await page.$eval("#new-key code", (code) => code.textContent);
    assert.equal((await server.call("GET", "/v1/me", undefined, { key })).scope, "write");
    await page.close();
    browser.calm();
  });
});

describe("the page", () => {
  test("has no serious finding of axe, on any screen, in both themes and at both widths", async () => {
    const short = made.ship.shortId;
    const open = await server.thread("Open work", "a");
    const fork = await server.call("POST", `/v1/threads/${open.id}/fork`, { messageIndex: 0 });
    await server.call("PUT", `/v1/threads/${open.id}/kv/k`, "1");
    await server.call("PUT", `/v1/threads/${fork.id}/kv/k`, "2");
    const key = { key: made.agent.key };
    await server.call("POST", `/v1/threads/${open.id}/transfer`, { direction: "request_approval", scope: ["deploy"], timeout: "PT1H" }, key);
    const screens = [
      "/", "/?title=nothing-like-it", "/inbox", "/search", "/search?q=parser", "/search?q=zzzzqqq", "/memories", "/memories?q=zzzzqqq", "/memories?project=garden", "/projects", "/settings", `/t/${short}`, `/t/${short}?v=3`, `/t/${short}?view=entries`,
      `/t/${short}?view=json`, `/t/${short}/map`, `/t/${short}/files`, `/t/${short}/files/notes.md`, `/t/${short}/files/src/cart.rs`, `/t/${short}/values`, `/t/${short}/merge`, `/t/${open.shortId}/merge?source=${fork.shortId}`,
      `/t/${short}?preview=visitor`, "/import", `/t/${short}/context`, `/t/${short}/context?run=${made.run.id}`, `/t/${short}/observers`, `/t/${open.shortId}/observers`, `/t/${short}/runs`, `/t/${short}/runs/${made.run.id}`, `/t/${open.shortId}/runs`, `/t/${short}/compare`, `/t/${short}/compare?with=${made.fork.shortId}`, `/t/${short}/files?grep=fn`, "/t/000000000000",
    ];
    const found = [];
    for (const theme of ["light", "dark"]) {
      for (const width of [1280, 320]) {
        const page = await browser.page(server, { theme, width });
        page.expected = ["/t/000000000000"];
        for (const path of screens) {
          await go(page, path);
          if (path === "/") await live(page);
          found.push(...(await axe(page)).map((finding) => `${path} ${theme} ${width}: ${finding}`));
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          if (wide > 0) found.push(`${path} ${theme} ${width}: ${wide} px too wide`);
        }
        await go(page, "/");
        for (const dialog of ["keys", "new-thread", "palette"]) {
          await page.evaluate((id) => document.getElementById(id).showModal(), dialog);
          found.push(...(await axe(page)).map((finding) => `${dialog} ${theme} ${width}: ${finding}`));
          await page.evaluate((id) => document.getElementById(id).close(), dialog);
        }
        await page.close();
      }
    }
    assert.deepEqual(found, []);
    browser.calm();
  });

  test("works in twelve tabs at once", async () => {
    const talk = await server.thread("Many tabs", "a");
    const first = await browser.page(server);
    const pages = [first];
    while (pages.length < 12) pages.push(await browser.page(server, { context: first.browserContext() }));
    for (const page of pages) {
      await go(page, `/t/${talk.shortId}`);
      await live(page);
    }
    await server.call("POST", `/v1/threads/${talk.id}/messages`, { role: "user", content: "to all" });
    for (const page of pages) await shows(page, "to all");
    for (const page of pages) await page.close();
    browser.calm();
  });

  test("survives kill -9: nothing typed is lost, nothing is missing, nothing comes twice", async () => {
    const own = await Server.start();
    const talk = await own.thread("Through a crash", "before");
    const page = await browser.page(own);
    await visit(page, `${own.url}/t/${talk.shortId}`);
    await live(page);
    await page.type("#text", "typed before the crash");
    await until(page, () => document.querySelector("#kept").textContent === "Draft kept");
    page.expected = ["ERR_CONNECTION_REFUSED", "ws://", "401", "ERR_"];
    const { folder } = own;
    const listen = new URL(own.url).host;
    await own.kill();
    await page.type("#text", " and after");
    const again = await Server.start(folder, listen);
    await again.call("POST", `/v1/threads/${talk.id}/messages`, { role: "assistant", content: "said meanwhile" });
    // Sessions end with the server: the dialog opens over the page.
    await until(page, () => document.querySelector("#signin").open);
    await page.type("#signin input[name=key]", again.ready.apiKey);
    await page.click("#signin .primary");
    await shows(page, "said meanwhile");
    await page.click("#send");
    await until(page, () => document.querySelectorAll(".msg").length === 3);
    const said = (await again.call("GET", `/v1/threads/${talk.id}/messages`)).items.map((message) => message.content);
    assert.deepEqual(said, ["before", "said meanwhile", "typed before the crash and after"]);
    assert.deepEqual(await texts(page, ".msg .body"), said);
    await page.close();
    browser.trouble.splice(0);
    await again.stop();
  });

  test("stays signed in when a refusal of the session before comes late", async () => {
    const own = await Server.start();
    const talk = await own.thread("Late refusal", "before");
    const page = await browser.page(own);
    page.expected = ["ERR_", "ws://", "401"];
    await visit(page, `${own.url}/t/${talk.shortId}`);
    await live(page);
    // The first draft is answered once the page is signed in again.
    await page.setRequestInterception(true);
    const held = new Promise((done) => {
      let drafts = 0;
      page.on("request", (request) => {
        if (request.method() === "PATCH" && ++drafts === 1) done(request);
        else request.continue();
      });
    });
    await page.type("#text", "typed");
    const draft = await held;
    const { folder } = own;
    const listen = new URL(own.url).host;
    await own.kill();
    const again = await Server.start(folder, listen);
    await until(page, () => document.querySelector("#signin").open);
    await page.type("#signin input[name=key]", again.ready.apiKey);
    await page.click("#signin .primary");
    await until(page, () => document.querySelector("#kept").textContent === "Draft kept");
    const repeated = page.waitForResponse((answer) => answer.request().method() === "PATCH" && answer.ok());
    await draft.respond({ status: 401, contentType: "application/problem+json", body: "{}" });
    await repeated;
    assert.equal(await page.$eval("#signin", (dialog) => dialog.open), false);
    await page.close();
    browser.trouble.splice(0);
    await again.stop();
  });

  test("reads without any script, also for a visitor", async () => {
    const talk = await server.thread("For everyone", "Read *me*");
    const context = await browser.browser.createBrowserContext();
    const page = await context.newPage();
    browser.watch(page, server);
    await page.setJavaScriptEnabled(false);
    await page.goto(`${server.url}/t/${talk.shortId}`);
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    await server.call("PATCH", `/v1/threads/${talk.id}`, { visibility: "public" });
    await page.goto(`${server.url}/t/${talk.shortId}`);
    assert.equal(await page.$eval(".msg em", (found) => found.textContent), "me");
    assert.equal(await page.title(), "For everyone · Threadkeep");
    await context.close();
    browser.calm();
  });

  test("keeps a window over a long thread, and jumps within it", async () => {
    const long = await server.thread("Long");
    for (let from = 0; from < 3_000; from += 1_000) {
      const messages = Array.from({ length: 1_000 }, (_, place) => ({ role: (from + place) % 2 ? "assistant" : "user", content: `message ${from + place}` }));
      await server.call("POST", `/v1/threads/${long.id}/messages`, { messages });
    }
    const page = await browser.page(server);
    await go(page, `/t/${long.shortId}`);
    await shows(page, "message 2999");
    assert.ok((await page.$$(".msg")).length <= 150);
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
    await until(page, () => {
      const seen = [...document.querySelectorAll(".msg")].find((one) => one.getBoundingClientRect().bottom > 200);
      return seen && seen.getBoundingClientRect().top < innerHeight && Number(seen.dataset.index) > 500 && Number(seen.dataset.index) < 2500;
    });
    // A page that comes in while somebody scrolls moves the others: then one scrolls on.
    await until(page, () => {
      window.scrollTo(0, 0);
      return document.querySelector("main").textContent.includes("message 0");
    });
    const order = await page.$$eval(".msg", (found) => found.map((one) => Number(one.dataset.index)));
    assert.deepEqual(order, order.map((_, place) => order[0] + place));
    await page.close();
    browser.calm();
  });
});
