// One program in Node, Deno, Bun and a browser, with the package as it is published.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { Server } from "./server.js";

const DEADLINE_MS = 240_000;
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript" };
const EXPECTED = [
  "1: one",
  "2: two",
  "3: three",
  "300000 bytes, the same",
  "206 250 0 1",
  "/data/bytes.bin",
  "NotFound thread_not_found true",
  "Conflict thread_terminated true",
];

const execute = promisify(execFile);
const run = async (program: string, args: string[], cwd: string, env: Record<string, string> = {}) =>
  (await execute(program, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", timeout: DEADLINE_MS })).stdout;

/** What is in front of the server: it passes requests on, cuts streams, serves the page, and is told what the page did. */
class Front {
  private readonly streams = new Set<ServerResponse | Duplex>();
  /** The number of WebSockets that were opened. */
  sockets = 0;
  private readonly http: HttpServer;
  /** The number of streams that were cut. */
  cuts = 0;
  told: (body: string) => void = () => undefined;

  private constructor(
    private readonly target: URL,
    private readonly folder: string,
  ) {
    this.http = createServer((asked, answer) => this.answer(asked, answer));
    this.http.on("upgrade", (asked, near, head) => this.upgrade(asked, near, head));
  }

  static async of(url: string, folder: string): Promise<Front> {
    const front = new Front(new URL(url), folder);
    await new Promise<void>((done) => front.http.listen(0, "127.0.0.1", done));
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  private answer(asked: IncomingMessage, answer: ServerResponse): void {
    const { pathname } = new URL(asked.url ?? "/", this.url);
    if (pathname.startsWith("/v1/")) return this.pass(asked, answer);
    if (pathname === "/cut") {
      this.cuts += this.streams.size;
      for (const stream of this.streams) stream.destroy();
      answer.end();
    } else if (pathname === "/told") {
      let body = "";
      asked.setEncoding("utf8").on("data", (piece: string) => (body += piece));
      asked.on("end", () => this.told(body));
      answer.end();
    } else {
      const file = join(this.folder, pathname);
      try {
        answer.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
        answer.end(readFileSync(file));
      } catch {
        answer.writeHead(404).end();
      }
    }
  }

  private pass(asked: IncomingMessage, answer: ServerResponse): void {
    const { hostname, port } = this.target;
    const { method, url: path } = asked;
    const headers = { ...asked.headers, host: this.target.host };
    const far = request({ hostname, port, method, path, headers }, (near) => {
      answer.writeHead(near.statusCode ?? 502, near.headers);
      answer.flushHeaders();
      if (near.headers["content-type"]?.startsWith("text/event-stream")) this.streams.add(answer);
      near.pipe(answer);
    });
    far.on("error", () => answer.destroy());
    answer.on("close", () => {
      this.streams.delete(answer);
      far.destroy();
    });
    asked.pipe(far);
  }

  /** Passes a WebSocket on. */
  private upgrade(asked: IncomingMessage, near: Duplex, head: Buffer): void {
    const far = connect(Number(this.target.port), this.target.hostname, () => {
      const headers = asked.rawHeaders.map((text, at) => (at % 2 ? `${text}\r\n` : `${text}: `)).join("");
      far.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${headers}\r\n`);
      far.write(head);
      near.pipe(far).pipe(near);
    });
    this.sockets += 1;
    this.streams.add(near);
    const end = () => {
      this.streams.delete(near);
      far.destroy();
      near.destroy();
    };
    for (const side of [near, far]) side.on("error", end).on("close", end);
  }

  stop(): void {
    this.http.closeAllConnections();
    this.http.close();
  }
}

let server: Server;
let front: Front;
let folder: string;
before(async () => {
  server = await Server.start();
  folder = mkdtempSync(join(tmpdir(), "threadkeep-everywhere-"));
  // The package is built and packed in a folder of its own: other tests build theirs meanwhile.
  const source = join(folder, "source");
  for (const part of ["package.json", "README.md", "types"]) cpSync(part, join(source, part), { recursive: true });
  await run(process.execPath, [resolve("node_modules/typescript/bin/tsc"), "-p", "tsconfig.json", "--outDir", join(source, "dist")], ".");
  await run("npm", ["pack", "--pack-destination", folder], source);
  const packed = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  assert.ok(packed, "npm packs a file");
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, packed)], folder);
  for (const file of readdirSync("test/everywhere")) cpSync(join("test/everywhere", file), join(folder, file));
  front = await Front.of(server.url, folder);
});
after(async () => {
  front?.stop();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Runs the program, and compares what it says. */
async function says(told: () => Promise<string>): Promise<void> {
  const before = front.cuts;
  const said = await told();
  assert.deepEqual(JSON.parse(said), EXPECTED);
  assert.ok(front.cuts > before, "a stream was cut");
}

const installed = (program: string) => resolve("node_modules/.bin", program);
const RUNTIMES: [name: string, program: string, args: string[]][] = [
  ["Node", process.execPath, ["main.js"]],
  ["Deno", installed("deno"), ["run", "--no-remote", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read", "main.js"]],
  ["Bun", installed("bun"), ["--no-install", "main.js"]],
];
for (const [name, program, args] of RUNTIMES) {
  test(`the program works in ${name}`, () => {
    const env = { THREADKEEP_SERVER: front.url, THREADKEEP_KEY: server.key, DENO_NO_UPDATE_CHECK: "1", DENO_DIR: join(folder, "deno") };
    return says(() => run(program, args, folder, env));
  });
}

test("the program works in a browser, over WebSockets", { timeout: DEADLINE_MS }, async () => {
  await says(async () => {
    const told = new Promise<string>((done) => (front.told = done));
    const args = [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--no-first-run",
      `--user-data-dir=${join(folder, "chromium")}`,
      `${front.url}/page.html?key=${encodeURIComponent(server.key)}`,
    ];
    const browser = spawn(process.env["CHROMIUM"] ?? "chromium", args, { stdio: "ignore" });
    const failed = new Promise<never>((_, fails) => {
      browser.once("error", fails);
      browser.once("exit", (code) => fails(new Error(`the browser ended with ${code}`)));
    });
    const gone = new Promise<void>((done) => browser.once("close", () => done()));
    try {
      return await Promise.race([told, failed]);
    } finally {
      browser.kill("SIGKILL");
      failed.catch(() => undefined);
      await gone;
    }
  });
  assert.ok(front.sockets > 1, "it follows over a WebSocket, and opens another one after the cut");
});
