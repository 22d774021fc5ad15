// Takes the two pictures of the README, from the scene of the stories: node readme.js, with THREADKEEP_BINARY set.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Browser, Server, until } from "./support.js";
import { scene } from "./scene.js";

const folder = fileURLToPath(new URL("../../../../docs/images", import.meta.url));
mkdirSync(folder, { recursive: true });
const server = await Server.start();
const browser = await Browser.start();
const { ship, fork, spawned } = await scene(server);
const choices = [{ path: "/src/cart.rs", take: "ours" }, { key: "mulch", take: "ours" }];
await server.call("POST", `/v1/threads/${ship.id}/merge`, { sources: [fork.id], choices });
await server.call("POST", `/v1/threads/${spawned.threadId}/fork`, { messageIndex: 0, title: "Fix it another way" });

const live = (page) => until(page, () => document.querySelector("#live").dataset.state === "live");
const talk = await browser.page(server, { width: 1200, height: 1080 });
await talk.goto(`${server.url}/t/${ship.shortId}`, { waitUntil: "load" });
await live(talk);
await talk.screenshot({ path: `${folder}/thread.png` });

const map = await browser.page(server, { width: 1200, height: 500, theme: "dark" });
await map.goto(`${server.url}/t/${ship.shortId}/map`, { waitUntil: "load" });
await live(map);
await map.screenshot({ path: `${folder}/map.png` });
await browser.stop();
await server.stop();
