// runCode over the real program: the handle always gives a result.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { RemoteThreadState } from "../src/index.js";
import { Server } from "./server.js";

let server: Server;
let state: RemoteThreadState;
before(async () => {
  server = await Server.start();
  const keep = server.client();
  state = await keep.state((await keep.threads.create({})).id);
});
after(() => server.stop());

test("code gives its result, its logs and its reports", async () => {
  const seen: unknown[] = [];
  const run = state.runCode("export default (a: number) => { console.log('hi', a); report({ a }); return a + 1 }", {
    execute: { args: [41] },
    report: (value) => seen.push(value),
  });
  assert.equal(run.running, true);
  const { status, result, reports, logs, durationMs, error } = await run;
  assert.deepEqual([status, result, reports, error], ["success", 42, [{ a: 41 }], undefined]);
  assert.equal(logs.length, 1);
  assert.ok(logs[0]!.level === "log" && logs[0]!.message.includes("hi"));
  assert.ok(durationMs >= 0);
  assert.deepEqual([run.running, run.reports, seen], [false, [{ a: 41 }], [{ a: 41 }]]);
  assert.equal((await state.runCode("export default null")).result, null);
  assert.ok(!("result" in (await state.runCode("export default () => undefined"))), "undefined is no result");
});

test("options are those of the sandbox", async () => {
  const options = {
    execute: { fn: "sum", args: [1] },
    imports: { config: { two: 2 } },
    globals: { three: 3 },
    modules: { "./util.ts": "export const four: number = 4" },
    language: "typescript" as const,
    filename: "sum.ts",
  };
  const source = 'import { two } from "config"; import { four } from "./util.ts"; export const sum = (one: number) => one + two + three + four;';
  assert.equal((await state.runCode(source, options)).result, 10);
  const thrown = await state.runCode("\n\nthrow new RangeError('no')", { filename: "x.ts", language: "javascript" });
  assert.equal(thrown.status, "error");
  const { name, message, line, filename } = thrown.error!;
  assert.deepEqual([name, message, line, filename], ["RangeError", "no", 3, "x.ts"]);
});

test("what does not link, does not end or needs too much says so", async () => {
  const unknown = await state.runCode("export default 1", { frob: 1 } as never);
  assert.ok(unknown.status === "link_error" && unknown.error?.message.includes("frob"), JSON.stringify(unknown));
  assert.equal((await state.runCode("export default ;;(")).status, "link_error");
  const late = await state.runCode("for (;;) {}", { timeoutMs: 50 });
  assert.deepEqual([late.status, late.error?.name], ["terminated", "code_timeout"]);
  const large = "const all = []; for (;;) all.push(new Array(100_000).fill(1));";
  assert.equal((await state.runCode(large, { memoryLimitBytes: 16 << 20 })).status, "memory");
  const wrong = await state.runCode("export default 1", { imports: { host: { call: () => 1 } } });
  assert.deepEqual([wrong.status, wrong.error?.name], ["link_error", "SerializationError"]);
});

test("terminate gives the result at once, with what was reported", async () => {
  const reported = new Promise<void>((resolve) => {
    const run = state.runCode("report(1); for (;;) {}", { report: () => resolve(end()) });
    const end = () => {
      run.terminate("enough");
      run.terminate("again");
    };
    void run.then((result) => {
      assert.deepEqual([result.status, result.reports, result.error?.message], ["terminated", [1], "enough"]);
    });
  });
  await reported;
  const early = state.runCode("for (;;) {}");
  early.terminate();
  assert.equal((await early).status, "terminated");
  assert.equal(early.running, false);
});

test("a refusal of the server is a result, too", async () => {
  const agent = server.client({ actor: "agent coder" });
  const run = await (await agent.state(state.threadId)).runCode("export default 1");
  assert.deepEqual([run.status, run.error?.name], ["error", "approval_required"]);
});
