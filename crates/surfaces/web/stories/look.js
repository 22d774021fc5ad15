// Takes a picture of every screen, in both themes and at both widths, into ./shots.
import { mkdirSync } from "node:fs";
import { Browser, Server } from "./support.js";
import { scene } from "./scene.js";

const folder = process.argv[2] ?? "shots";
const only = process.argv[3];
mkdirSync(folder, { recursive: true });
const server = await Server.start(Server.folderWithAgent("helper", [{ text: "You said: {{user}}" }]));
const browser = await Browser.start();
const { ship, fork, run, agent } = await scene(server);
const short = ship.shortId;
const nothing = await server.call("POST", "/v1/threads", { title: "Nothing yet" });
const work = await server.thread("At work", "Count the words of the book.");
const open = await server.call("POST", `/v1/threads/${work.id}/runs`, { executor: "caller", agentId: "counter" }, { key: agent.key });
await server.call("POST", `/v1/threads/${work.id}/queue`, { role: "user", content: "And the letters, please." });
await server.call("POST", `/v1/runs/${open.id}/delta`, { text: "I have counted 41,000 words so far. The longest chapter is the ninth, " }, { key: agent.key });
const empty = await Server.start();
const screens = {
  threads: "/", thread: `/t/${short}`, asof: `/t/${short}?v=5`, entries: `/t/${short}?view=entries`, json: `/t/${short}?view=json`, map: `/t/${short}/map`,
  files: `/t/${short}/files`, file: `/t/${short}/files/src/cart.rs`, diff: `/t/${short}/files/src/cart.rs?diff=6`, values: `/t/${short}/values`,
  merge: `/t/${short}/merge?source=${fork.shortId}`, choose: `/t/${short}/merge`, inbox: "/inbox", search: "/search?q=parser", "search-empty": "/search", nothing: "/search?q=zzzzqqq", memories: "/memories", "memories-none": "/memories?q=zzzzqqq", context: `/t/${short}/context`, "context-run": `/t/${short}/context?run=${run.id}`, observers: `/t/${short}/observers`, "observers-empty": `/t/${nothing.shortId}/observers`, projects: "/projects", settings: "/settings", missing: "/t/000000000000",
  runs: `/t/${short}/runs`, run: `/t/${short}/runs/${run.id}`, work: `/t/${work.shortId}`, "work-run": `/t/${work.shortId}/runs/${open.id}`, compare: `/t/${short}/compare?with=${fork.shortId}`, "compare-choose": `/t/${short}/compare`,
  import: "/import", preview: `/t/${short}?preview=visitor`, "thread-empty": `/t/${nothing.shortId}`, "files-empty": `/t/${nothing.shortId}/files`, "values-empty": `/t/${nothing.shortId}/values`, "runs-empty": `/t/${nothing.shortId}/runs`, grep: `/t/${short}/files?grep=fn`,
};
/** Screens of a server on which nothing was made, and dialogs over a screen. */
const bare = { "empty-threads": "/", "empty-inbox": "/inbox", "empty-projects": "/projects", "empty-settings": "/settings" };
const dialogs = ["keys", "new-thread", "palette", "fork", "share", "rollback", "handoff", "assign", "signin", "actions", "marks", "adding", "observing", "import-done"];
const wanted = (name) => !only || only.split(",").includes(name);

/** Opens what covers a screen, as a reader does. */
async function cover(page, name) {
  if (name === "palette") await page.click(".find");
  else if (name === "actions") await page.click("#actions summary");
  else if (name === "marks") await page.click(".marks summary");
  else if (name === "adding" || name === "observing") {
    await page.goto(server.url + (name === "adding" ? "/memories" : `/t/${short}/observers`), { waitUntil: "load" });
    await page.click(`#${name} summary`);
  }
  else if (name === "import-done") {
    await page.goto(`${server.url}/import`, { waitUntil: "load" });
    await (await page.$("#import-files")).uploadFile(new URL("./look-session.jsonl", import.meta.url).pathname);
  } else await page.evaluate((id) => document.getElementById(id).showModal(), name);
}

for (const theme of ["light", "dark"]) {
  for (const width of [1280, 320]) {
    const shoot = async (page, name) => {
      await new Promise((done) => setTimeout(done, 300));
      await page.screenshot({ path: `${folder}/${name}-${theme}-${width}.png` });
    };
    const page = await browser.page(server, { width, theme });
    for (const [name, path] of Object.entries(screens).filter(([name]) => wanted(name))) {
      await page.goto(server.url + path, { waitUntil: "load" });
      await shoot(page, name);
    }
    for (const name of dialogs.filter(wanted)) {
      await page.goto(`${server.url}/t/${short}`, { waitUntil: "load" });
      await cover(page, name);
      await shoot(page, name);
    }
    await page.close();
    if (!Object.keys(bare).some(wanted) && !wanted("sign-in")) continue;
    const other = await browser.page(empty, { width, theme });
    for (const [name, path] of Object.entries(bare).filter(([name]) => wanted(name))) {
      await other.goto(empty.url + path, { waitUntil: "load" });
      await shoot(other, name);
    }
    await other.deleteCookie(...(await other.cookies()));
    await other.goto(`${empty.url}/sign-in`, { waitUntil: "load" });
    await shoot(other, "sign-in");
    await other.close();
  }
}
console.log(browser.trouble);
await browser.stop();
await empty.stop();
await server.stop();
