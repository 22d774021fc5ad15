// Stories with the real program.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Conflict, FateUnknown, Invalid, NotFound, ThreadkeepError, Unauthorized, Unreachable } from "../src/index.js";
import { Proxy, Server } from "./server.js";

let server: Server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

test("a conversation is written, forked, read and followed", async () => {
  const keep = server.client();
  const thread = await keep.threads.create({ title: "Tea" });
  await keep.threads.appendMessages(thread.id, { role: "user", content: "Which tea?" });
  await keep.threads.appendMessages(thread.id, { role: "assistant", content: "Green — or 抹茶?" });
  const fork = await keep.threads.fork(thread.id, { messageIndex: 0 });
  const texts = async (id: string) => (await keep.threads.listMessages(id, { limit: 1 }).all()).map((message) => message.content);
  assert.deepEqual(await texts(thread.id), ["Which tea?", "Green — or 抹茶?"]);
  assert.deepEqual(await texts(fork.id), ["Which tea?"]);
  const kinds: string[] = [];
  for await (const entry of keep.threads.follow(thread.id)) {
    kinds.push(entry.kind);
    if (kinds.filter((kind) => kind === "message_appended").length === 2) break;
  }
  assert.ok(kinds.includes("message_appended"));
});

test("errors say what is wrong, with the code of the server", async () => {
  const keep = server.client();
  const thread = await keep.threads.create({});
  const missing = await keep.threads.get("0123456789ab").catch((error: unknown) => error);
  assert.ok(missing instanceof NotFound && missing.code === "thread_not_found" && missing.requestId);
  const stale = await keep.threads.update(thread.id, { title: "x" }, { expectedVersion: 999 }).catch((error: unknown) => error);
  assert.ok(stale instanceof Conflict && typeof stale.currentVersion === "number", String(stale));
  const wrong = await keep.threads.appendMessages(thread.id, { role: "nobody" } as never).catch((error: unknown) => error);
  assert.ok(wrong instanceof Invalid, String(wrong));
  const stranger = await server.client({ key: "wrong" }).threads.get(thread.id).catch((error: unknown) => error);
  assert.ok(stranger instanceof Unauthorized && !stranger.message.includes("wrong"));
  const unfit = await keep.threads.get(thread.id, { writer: "1" } as never).catch((error: unknown) => error);
  assert.ok(unfit instanceof ThreadkeepError && unfit.code === "not_honoured");
  const gone = await Proxy.to(server.url);
  const nowhere = server.client({ url: gone.url, retryForMs: 0 });
  gone.stop();
  assert.ok((await nowhere.threads.get(thread.id).catch((error: unknown) => error)) instanceof Unreachable);
});

test("an append is made once, however often the connection breaks", async () => {
  const proxy = await Proxy.to(server.url);
  const keep = server.client({ url: proxy.url });
  const thread = await keep.threads.create({});
  // On a busy machine an append may take longer than the time between two cuts, so the cuts end.
  let cuts = 0;
  const cutting = setInterval(() => (cuts += 1) <= 200 && proxy.cut(), 7);
  try {
    for (let n = 0; n < 60; n++) {
      await keep.threads.appendMessages(thread.id, { role: "user", content: `m${n}` });
    }
  } finally {
    clearInterval(cutting);
    proxy.stop();
  }
  const texts = (await server.client().threads.listMessages(thread.id, { limit: 100 }).all()).map((message) => message.content);
  assert.deepEqual(texts, Array.from({ length: 60 }, (_, n) => `m${n}`));
});

test("a stream gives 10,000 entries once through 100 cuts", async () => {
  const proxy = await Proxy.to(server.url);
  const direct = server.client();
  const thread = await direct.threads.create({});
  const total = 10_000;
  const writing = (async () => {
    for (let n = 0; n < total; n += 100) {
      const messages = Array.from({ length: 100 }, (_, at) => ({ role: "user" as const, content: `m${n + at}` }));
      await direct.threads.appendMessages(thread.id, { messages });
    }
  })();
  const seen: unknown[] = [];
  let cuts = 0;
  let last = 0;
  const begin = (await direct.threads.get(thread.id)).v;
  assert.equal(typeof begin, "number");
  for await (const entry of server.client({ url: proxy.url }).threads.follow(thread.id)) {
    assert.ok(entry.version > last, "versions rise");
    last = entry.version;
    if (entry.kind !== "message_appended") continue;
    seen.push((entry.data as { content: unknown }).content);
    if (seen.length % 100 === 0 && cuts < 100) {
      cuts += 1;
      proxy.cut();
    }
    if (seen.length === total) break;
  }
  await writing;
  proxy.stop();
  assert.equal(cuts, 100);
  assert.deepEqual(seen, Array.from({ length: total }, (_, n) => `m${n}`));
});

test("a stream outlives the death of its server, and ends with its thread", async () => {
  const keep = server.client();
  const thread = await keep.threads.create({});
  await keep.threads.appendMessages(thread.id, { role: "user", content: "before" });
  const texts: unknown[] = [];
  for await (const entry of keep.threads.follow(thread.id)) {
    if (entry.kind !== "message_appended") continue;
    texts.push((entry.data as { content: unknown }).content);
    if (texts.length === 1) {
      await server.crash();
      await keep.threads.appendMessages(thread.id, { role: "user", content: "after" });
    } else {
      assert.deepEqual(await keep.threads.delete(thread.id), { deleted: true });
    }
  }
  assert.deepEqual(texts, ["before", "after"]);
});

test("a stream begins where it is told, and ends when it is told", async () => {
  const keep = server.client();
  const thread = await keep.threads.create({});
  await keep.threads.appendMessages(thread.id, { role: "user", content: "old" });
  const { v } = await keep.threads.get(thread.id);
  const stop = new AbortController();
  const following = keep.threads.follow(thread.id, { after: v, signal: stop.signal });
  const next = following[Symbol.asyncIterator]();
  const waiting = next.next();
  await keep.threads.appendMessages(thread.id, { role: "user", content: "new" });
  const entry = (await waiting).value;
  assert.equal((entry?.data as { content: unknown }).content, "new");
  assert.equal(following.cursor, String(entry?.version));
  const more = next.next();
  stop.abort();
  await assert.rejects(more, { name: "AbortError" });
});

test("the stream of a run gives each event once through cuts and the death of its server, and ends with the run", async () => {
  const proxy = await Proxy.to(server.url);
  const keep = server.client();
  const { id } = await keep.threads.create({});
  const run = await keep.threads.startRun(id, { executor: "caller", agentId: "counter" });
  const steps = 40;
  const told: string[] = [];
  let text = "";
  let step = 0;
  const next = async () => {
    step += 1;
    if (step > steps) {
      await keep.runs.end(run.id);
      return;
    }
    await keep.runs.sendDelta(run.id, { text: `step ${step}` });
    const use = { type: "tool_use" as const, id: `call-${step}`, name: "count", input: {} };
    const content = [{ type: "text" as const, text: `step ${step} is done` }, use];
    const result = [{ type: "tool_result" as const, toolUseId: use.id, content: "ok", isError: false }];
    await keep.runs.step(run.id, { messages: [{ role: "assistant", content }, { role: "tool", content: result }] });
  };
  for await (const event of server.client({ url: proxy.url }).runs.follow(run.id)) {
    if (event.type === "timing") {
      told.push("timing");
    } else if (event.type === "tool_call") {
      told.push(`${event.tool_name} ${event.status}`);
      // An entry brought two events: the connection breaks between them, or after them.
      if (step % 3 === 0) proxy.cut();
      if (event.status === "completed") await next();
    } else if (event.type === "assistant") {
      if (event.stream_status === "chunk") text += event.content;
      else told.push(event.content);
      if (step % 2 === 0) proxy.cut();
      if (step === steps / 2 && event.stream_status === "complete") await server.crash();
    } else {
      told.push(event.status);
      if (event.status === "running") await next();
    }
  }
  proxy.stop();
  const of = (n: number) => [`step ${n} is done`, "count executing", "count completed"];
  const each = Array.from({ length: steps }, (_, n) => of(n + 1)).flat();
  assert.deepEqual(told.filter((one) => one !== "timing"), ["running", ...each, "completed"]);
  assert.equal(told.filter((one) => one === "timing").length, 1);
  // Chunks are told as they come, or not at all; never twice.
  const numbers = [...text.matchAll(/step (\d+)/g)].map(([, n]) => Number(n));
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
});

test("a run that is unknown is not found, and a stream of a run ends when it is told", async () => {
  const keep = server.client();
  const unknown = keep.runs.follow("019a1b2c-3d4e-7f56-8a9b-0c1d2e3f4a5b")[Symbol.asyncIterator]();
  await assert.rejects(unknown.next(), { code: "run_not_found" });
  const { id } = await keep.threads.create({});
  const run = await keep.threads.startRun(id, { executor: "caller", agentId: "counter" });
  const stop = new AbortController();
  const following = keep.runs.follow(run.id, { signal: stop.signal })[Symbol.asyncIterator]();
  assert.deepEqual((await following.next()).value, { type: "status", status: "running", message: "Started" });
  const more = following.next();
  stop.abort();
  await assert.rejects(more, { name: "AbortError" });
});

test("without settings, the client finds the server of the data folder, also after a restart", async () => {
  const keep = server.found();
  const { id } = await keep.threads.create({ title: "Found" });
  assert.equal((await keep.threads.get(id)).title, "Found");
  // The local key is made anew at each start.
  await server.crash();
  assert.equal((await keep.threads.get(id)).title, "Found");
});

test("files are written and read, whole and as they come", async () => {
  const keep = server.client();
  const { id } = await keep.threads.create({});
  const files = keep.threads.files;
  const record = await files.write(id, "/notes/plän.md", "# Plan", { mimeType: "text/markdown", metadata: { by: "Zoë" } });
  assert.deepEqual([record.path, record.mimeType, record.size], ["/notes/plän.md", "text/markdown", 6]);
  assert.equal(await files.text(id, "/notes/plän.md"), "# Plan");
  const bytes = new Uint8Array(300_000).map((_, at) => at % 251);
  const poured = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 1_000) controller.enqueue(bytes.slice(at, at + 1_000));
      controller.close();
    },
  });
  await files.write(id, "big", poured);
  assert.deepEqual(await files.read(id, "big"), bytes);
  const part = await files.open(id, "big", { range: "bytes=10-19" });
  assert.deepEqual([part.status, new Uint8Array(await part.arrayBuffer())], [206, bytes.slice(10, 20)]);
  assert.deepEqual((await files.list(id).all()).map((file) => file.path).sort(), ["/big", "/notes/plän.md"]);
  await files.move(id, "big", "/huge");
  assert.equal(await files.delete(id, "huge"), true);
  assert.equal(await files.delete(id, "huge"), false);
  await assert.rejects(files.read(id, "huge"), { code: "file_not_found" });
  await assert.rejects(files.write(id, "/notes/plän.md", "again", {}, { ifAbsent: true }), { name: "Conflict" });
});

test("values and their versions", async () => {
  const keep = server.client();
  const { id } = await keep.threads.create({});
  const set = await keep.threads.setValue(id, "a/b c", { n: [1, null] });
  assert.deepEqual((await keep.threads.getValue(id, "a/b c")).value, { n: [1, null] });
  await assert.rejects(keep.threads.setValue(id, "a/b c", 2, { ifAbsent: true }), (error: unknown) => error instanceof Conflict);
  await keep.threads.setValue(id, "a/b c", 2, { expectedVersion: set.version as number });
  assert.deepEqual(await keep.threads.deleteValue(id, "a/b c"), { deleted: true });
});

test("a change whose fate is unknown is not sent again without a key", async () => {
  let sent = 0;
  const broken: typeof fetch = () => {
    sent += 1;
    return Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
  };
  const keep = server.client({ fetch: broken, retryForMs: 200 });
  await assert.rejects(keep.keys.create({ account: "k" }), (error: unknown) => error instanceof FateUnknown);
  assert.equal(sent, 1);
  await assert.rejects(keep.threads.get("0123456789ab"), (error: unknown) => error instanceof FateUnknown);
  assert.ok(sent > 2, "a read is sent again");
});
