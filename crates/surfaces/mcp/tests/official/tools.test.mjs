// Tools of official MCP servers, called by a thread: the Python SDK and the example server in Node, on stdio and over HTTP.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "./server.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const python = join(here, ".venv/bin/python");
const script = join(here, "tools_server.py");
const everything = join(here, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const DEADLINE = 30_000;
let server, thread, started;

/** Waits until something holds. */
async function until(what, holds) {
  for (const began = Date.now(); !(await holds()); await new Promise((done) => setTimeout(done, 50))) {
    assert.ok(Date.now() - began < DEADLINE, `not in time: ${what}`);
  }
}

/** A port that nothing listens on now. */
const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const listens = (port) => fetch(`http://127.0.0.1:${port}/mcp`).then(() => true, () => false);

function define(name, fields) {
  const lines = Object.entries(fields).map(([field, value]) => `${field} = ${JSON.stringify(value)}\n`);
  writeFileSync(join(server.data, "definitions/mcp", `${name}.toml`), `needs = []\n${lines.join("")}`);
}

const invoke = (tool, args = {}, signal) =>
  fetch(`${server.url}/v1/threads/${thread}/tools/${encodeURIComponent(tool)}/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
    body: JSON.stringify({ args }),
    signal,
  }).then((response) => response.json());

before(async () => {
  server = await serve();
  thread = (await server.human("POST", "/threads", {})).id;
  mkdirSync(join(server.data, "definitions/mcp"), { recursive: true });
  const ports = [await freePort(), await freePort()];
  const quiet = { stdio: "ignore" };
  started = [
    spawn(python, [script, String(ports[0])], quiet),
    spawn(process.execPath, [everything, "streamableHttp"], { ...quiet, env: { ...process.env, PORT: String(ports[1]) } }),
  ];
  define("python", { command: [python, script, "stdio"] });
  define("python_http", { url: `http://127.0.0.1:${ports[0]}/mcp` });
  define("node", { command: [process.execPath, everything, "stdio"] });
  define("node_http", { url: `http://127.0.0.1:${ports[1]}/mcp` });
  for (const port of ports) await until(`a server on ${port}`, () => listens(port));
  await server.human("POST", "/definitions/reload", {});
});
after(async () => {
  started?.forEach((child) => child.kill("SIGKILL"));
  await server?.stop();
});

for (const name of ["python", "python_http"]) {
  test(`tools of the Python SDK: ${name}`, async () => {
    assert.deepEqual(await invoke(`mcp:${name}/add`, { a: 2, b: 3 }), { status: "success", result: { result: 5 } });
    const shouted = await invoke(`mcp:${name}/shout`, { text: "grüße" });
    assert.equal(shouted.result.result, "GRÜSSE");
    const failed = await invoke(`mcp:${name}/fail`);
    assert.equal(failed.status, "error");
    assert.match(failed.error, /it failed/);
    const wrong = await invoke(`mcp:${name}/add`, { a: "two", b: 3 });
    assert.match(wrong.error, /args\.a: is string, not integer/);
  });
}

for (const name of ["node", "node_http"]) {
  test(`tools of the example server in Node: ${name}`, async () => {
    assert.match(JSON.stringify((await invoke(`mcp:${name}/echo`, { message: "hello" })).result), /hello/);
    const image = await invoke(`mcp:${name}/get-tiny-image`);
    assert.equal(image.attachments?.[0]?.mimeType, "image/png", JSON.stringify(image).slice(0, 500));
    const structured = await invoke(`mcp:${name}/get-structured-content`, { location: "New York" });
    assert.equal(typeof structured.result.temperature, "number", JSON.stringify(structured));
  });
}

test("a program has a cleared environment, and one process for an account", async () => {
  const { result } = await invoke("mcp:python/environment");
  const names = result.result.filter((name) => !["PATH", "LANG", "LC_CTYPE"].includes(name));
  assert.deepEqual(names, []);
  const [first, second] = [await invoke("mcp:python/identity"), await invoke("mcp:python/identity")];
  assert.deepEqual(first.result, second.result);
});

test("a call whose client goes away is cancelled on the server", async () => {
  const file = join(server.data, "cancelled.txt");
  const gone = new AbortController();
  const call = invoke("mcp:python/wait", { file }, gone.signal).catch(() => "gone");
  await until("the tool begins", () => existsSync(file));
  gone.abort();
  assert.equal(await call, "gone");
  await until("the tool is cancelled", () => readFileSync(file, "utf8") === "cancelled");
});
