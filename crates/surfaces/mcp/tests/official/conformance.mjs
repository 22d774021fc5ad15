// The official conformance suite, for both revisions. Scenarios that are expected to fail are listed with their reasons;
// one that passes must leave the list.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { serve } from "./server.mjs";

const example = process.env.THREADKEEP_CONFORMANCE;
if (!example) throw new Error("set THREADKEEP_CONFORMANCE to the example `conformance` of threadkeep-mcp");
const server = await serve();
const tested = spawn(example, [server.url, server.key], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve) => createInterface({ input: tested.stdout }).once("line", resolve));
let failed = false;
for (const revision of ["2025-11-25", "2026-07-28"]) {
  // The suite needs Node 22, which comes as a package.
  const suite = ["node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url];
  const args = [...suite, "--requirements", revision, "--expected-failures", `expected-${revision}.yaml`];
  const run = spawnSync("node_modules/.bin/node", args, { encoding: "utf8", timeout: 300_000 });
  const lines = `${run.stdout}${run.stderr}`.trimEnd().split("\n");
  if (run.status !== 0 || process.env.VERBOSE) console.log(lines.join("\n"));
  console.log(`${run.status === 0 ? "ok" : "failed"}: the conformance suite, revision ${revision}`);
  failed ||= run.status !== 0;
}
tested.kill();
await server.stop();
process.exit(failed ? 1 : 0);
