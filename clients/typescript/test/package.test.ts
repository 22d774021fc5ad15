// The package as it is published: packed, installed into an empty folder, type-checked and run there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { Server } from "./server.js";

const SIZE_BYTES_MAX = 25 * 1024;
const DEADLINE_MS = 120_000;
const EXAMPLES = "../../examples/ts";
const EXAMPLE_LINES_MAX = 41; // 40, and the end of the last one.
const tsc = resolve("node_modules/typescript/bin/tsc");

let server: Server;
let folder: string;
before(async () => {
  server = await Server.start();
  folder = mkdtempSync(join(tmpdir(), "threadkeep-pack-"));
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (program: string, args: string[], cwd: string, env: Record<string, string> = {}) =>
  execFileSync(program, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", timeout: DEADLINE_MS, stdio: ["ignore", "pipe", "pipe"] });

const scripts = (at: string): string[] =>
  readdirSync(at, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? scripts(join(at, one.name)) : one.name.endsWith(".js") ? [join(at, one.name)] : []));

test("the package is small, and needs nothing but the web's own functions", () => {
  rmSync("dist", { recursive: true, force: true });
  run("npm", ["run", "build", "--silent"], ".");
  const texts = scripts("dist").map((file) => readFileSync(file, "utf8"));
  const size = gzipSync(texts.join("")).length;
  assert.ok(size <= SIZE_BYTES_MAX, `${size} bytes`);
  const imported = texts.flatMap((text) => [...text.matchAll(/^(?:import|export)\b[^;"]*\bfrom "([^"]+)";/gm)].map(([, from]) => from!));
  assert.ok(imported.length > 0);
  for (const from of imported) assert.match(from, /^\.{1,2}\//, "no module of Node, no dependency");
});

test("it installs into an empty folder, type-checks there with --strict, and works", () => {
  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder], ".")) as [{ filename: string; files: { path: string }[] }];
  assert.ok(packed.files.every(({ path }) => /^(dist|types)\/|^(package\.json|README\.md)$/.test(path)), JSON.stringify(packed.files));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, packed.filename)], folder);
  const examples = readdirSync(EXAMPLES);
  for (const file of examples) copyFileSync(join(EXAMPLES, file), join(folder, file));
  for (const file of readdirSync("test/program")) copyFileSync(join("test/program", file), join(folder, file));
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext"];
  run(process.execPath, [tsc, ...strict, "--lib", "es2022,dom,dom.asynciterable", "main.ts", ...examples], folder);
  const told = (program: string) => run(process.execPath, [program], folder, { THREADKEEP_SERVER: server.url, THREADKEEP_KEY: server.key });
  assert.deepEqual(JSON.parse(told("main.js")), [
    "user: Which tea? (completed)",
    "user: Hurry. (pending)",
    "2 false",
    "QA text",
    "# Tea",
    "/notes/tea.md 1",
    "success 42",
    "parent null, children 0, at rest true",
    "terminated number",
    "/notes/tea.md",
  ]);
  for (const example of examples) {
    assert.ok(readFileSync(join(EXAMPLES, example), "utf8").split("\n").length <= EXAMPLE_LINES_MAX, `${example} is short`);
    const expected = SHOWN[example];
    assert.ok(expected, `what ${example} prints is known`);
    assert.equal(told(example.replace(/ts$/, "js")), expected);
  }
});

/** What the examples print. */
const SHOWN: Record<string, string> = {
  "conversation.ts": `user: Which parser do we ship?
user: Show me the numbers first.
conflict: the thread is at version 3
1 message, then 2
entry message_appended
entry message_appended
`,
  "state.ts": `1 notes
2 notes
assistant (completed): I wrote it down.
user (pending): What did you write?
/notes.md:2 - Water them.
success 2
`,
  "agent.ts": `completed after 2 steps
user: Hello!
assistant: You said: Hello!
user: Are you there?
assistant: You said: Are you there?
`,
};
