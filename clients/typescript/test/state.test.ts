// ThreadState over the real program, member by member.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { NotFound, Refused, ThreadkeepError, type RemoteThreadState, type Threadkeep } from "../src/index.js";
import { definitions } from "./definitions.js";
import { Server } from "./server.js";

let server: Server;
let keep: Threadkeep;
before(async () => {
  server = await Server.start(definitions);
  keep = server.client();
});
after(() => server.stop());

const opened = async (params = {}): Promise<RemoteThreadState> => keep.state((await keep.threads.create(params)).id);
const code = (code: string) => (error: unknown) => error instanceof ThreadkeepError && error.code === code;
const texts = async (state: RemoteThreadState, options = {}) =>
  (await state.getMessages(options)).messages.map((message) => message.content);

const DEADLINE_MS = 20_000;

/** Waits for a condition that a change on the server brings about. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!condition()) {
    assert.ok(Date.now() < deadline, "in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("identity is that of the thread, with times in microseconds", async () => {
  const made = Date.now() * 1_000;
  const thread = await keep.threads.create({ agentId: "helper", userId: "ann" } as never);
  const state = await keep.state(thread.shortId);
  assert.equal(state.threadId, thread.id);
  assert.deepEqual([state.agentId, state.userId], ["helper", thread.userId ?? null]);
  assert.ok(Math.abs(state.createdAt - made) < 60e6, "microseconds");
  assert.deepEqual([state.children, state.terminated, state.execution], [[], null, null]);
  assert.equal(state._notPackableRuntimeContext, undefined);
  assert.equal((await opened()).agentId, "");
  await assert.rejects(keep.state("0123456789ab"), (error: unknown) => error instanceof NotFound);
});

test("getMessages: the newest in rising order, or as it is told", async () => {
  const state = await opened();
  for (const content of ["a", "b", "c", "d"]) await state.injectMessage({ role: "user", content });
  assert.deepEqual(await texts(state), ["a", "b", "c", "d"]);
  assert.deepEqual(await texts(state, { limit: 2 }), ["c", "d"]);
  assert.deepEqual(await texts(state, { limit: 2, offset: 1 }), ["b", "c"]);
  assert.deepEqual(await texts(state, { limit: 2, order: "asc" }), ["a", "b"]);
  assert.deepEqual(await texts(state, { limit: 2, order: "desc" }), ["d", "c"]);
  const page = await state.getMessages({ limit: 3, offset: 1, order: "asc" });
  assert.deepEqual([page.messages.length, page.total, page.hasMore], [3, 4, false]);
  assert.equal((await state.getMessages({ limit: 3 })).hasMore, true);
  assert.deepEqual(await state.getMessages({ offset: 9 }), { messages: [], total: 4, hasMore: false });
  assert.deepEqual(await state.getMessages({ limit: 0 }), { messages: [], total: 4, hasMore: true });
  await assert.rejects(state.getMessages({ limit: -1 }), code("invalid_parameter"));
});

test("getMessages gives as many as it is asked for", async () => {
  const state = await opened();
  const all = Array.from({ length: 2_300 }, (_, n) => `m${n}`);
  for (let n = 0; n < all.length; n += 1_000) {
    const messages = all.slice(n, n + 1_000).map((content) => ({ role: "user" as const, content }));
    await keep.threads.appendMessages(state.threadId, { messages });
  }
  await state.queueMessage({ content: "q" });
  assert.deepEqual(await texts(state, { limit: 5_000, offset: 1 }), all);
  assert.deepEqual(await texts(state, { limit: 5_000, offset: 100, order: "asc" }), [...all.slice(100), "q"]);
});

test("getMessages hides silent and deep messages, and lists queued ones as pending", async () => {
  const state = await opened();
  const top = await state.injectMessage({ role: "user", content: "a" });
  await state.injectMessage({ role: "system", content: "hidden", silent: true });
  await state.injectMessage({ role: "assistant", content: "below", depth: 1, parent_id: top.id });
  await state.queueMessage({ role: "user", content: "q1" });
  await state.queueMessage({ content: "q2", metadata: { n: 2 } });
  await state.queueMessage({ role: "assistant", content: "q3", silent: true });
  assert.deepEqual(await texts(state), ["a", "q1", "q2"]);
  assert.deepEqual(await texts(state, { includeSilent: true, maxDepth: 1 }), ["a", "hidden", "below", "q1", "q2", "q3"]);
  assert.deepEqual(await texts(state, { order: "asc", limit: 2 }), ["a", "q1"]);
  assert.deepEqual(await texts(state, { order: "asc", offset: 2 }), ["q2"]);
  assert.deepEqual(await texts(state, { order: "desc", limit: 2, offset: 1 }), ["q1", "a"]);
  assert.deepEqual(await texts(state, { limit: 1 }), ["q2"]);
  const { messages, total, hasMore } = await state.getMessages({ limit: 2 });
  assert.deepEqual([messages.map((one) => one.status), total, hasMore], [["pending", "pending"], 3, true]);
  assert.deepEqual(messages[1]?.metadata, { n: 2 });

  // It keeps its id when it is delivered.
  const waiting = messages[0]!;
  assert.equal((await state.getMessage(waiting.id))?.status, "pending");
  await keep.threads.startRun(state.threadId, { executor: "caller" });
  assert.equal((await state.getMessage(waiting.id))?.status, "completed");
  assert.deepEqual((await state.getMessages()).messages.map((one) => one.status), ["completed", "completed", "completed"]);
  assert.equal((await state.updateMessage(waiting.id, { content: "changed" })).content, "changed");
  assert.equal(await state.deleteMessage(waiting.id), true);
  assert.deepEqual(await texts(state), ["a", "q2"]);
});

test("a message has one text, its calls and its result beside it", async () => {
  const state = await opened();
  const call = { id: "c1", type: "function" as const, function: { name: "add", arguments: '{"a":1}' } };
  const asked = await state.injectMessage({ role: "assistant", content: "Let me see.", tool_calls: [call] });
  assert.deepEqual([asked.content, asked.tool_calls, asked.tool_status], ["Let me see.", [call], null]);
  const silent = await state.injectMessage({ role: "assistant", tool_calls: [{ ...call, id: "c2" }] });
  assert.equal(silent.content, null);
  const failed = await state.injectMessage({ role: "tool", name: "add", tool_call_id: "c1", content: "no", tool_status: "error" });
  assert.deepEqual([failed.tool_call_id, failed.content, failed.tool_status, failed.name], ["c1", "no", "error", "add"]);
  const { id } = (await keep.threads.appendMessages(state.threadId, { role: "info", content: [{ type: "text", text: "x" }, { type: "thinking", text: "y" }] })) as { id: string };
  const info = await state.getMessage(id);
  assert.deepEqual([info?.role, info?.content, info?.status, info?.depth], ["system", "x", "completed", 0]);
  assert.ok(info && info.created_at > 1e15, "microseconds");
  assert.equal(await state.getMessage("M-00000000000000000"), null);
  assert.equal(await state.getMessage("nonsense"), null);
  const wrong = { ...call, function: { name: "add", arguments: "{" } };
  await assert.rejects(state.injectMessage({ role: "assistant", tool_calls: [wrong] }), code("invalid_body"));
  await assert.rejects(state.injectMessage({ role: "nobody" as never, content: "x" }), Refused);
});

test("updateMessage changes the text, merges metadata and keeps calls", async () => {
  const state = await opened();
  const call = { id: "c1", type: "function" as const, function: { name: "add", arguments: "{}" } };
  const made = await state.injectMessage({ role: "assistant", content: "old", tool_calls: [call], metadata: { a: 1, b: 2 } });
  const changed = await state.updateMessage(made.id, { content: "new", metadata: { b: 3 } });
  assert.deepEqual([changed.content, changed.tool_calls, changed.metadata], ["new", [call], { a: 1, b: 3 }]);
  assert.equal((await state.updateMessage(made.id, { metadata: { c: 4 } })).content, "new");
  const result = await state.injectMessage({ role: "tool", tool_call_id: "c1", content: "1" });
  const renewed = await state.updateMessage(result.id, { content: "2" });
  assert.deepEqual([renewed.content, renewed.tool_call_id], ["2", "c1"]);
  await state.queueMessage({ content: "later" });
  const waiting = (await state.getMessages()).messages.at(-1)!;
  assert.equal((await state.updateMessage(waiting.id, { content: "sooner" })).content, "sooner");
  assert.equal((await state.getMessage(waiting.id))?.content, "sooner");
  await assert.rejects(state.updateMessage("M-00000000000000000", { content: "x" }), code("message_not_found"));
});

test("deleteMessage says whether there was one, and cancels a queued one", async () => {
  const state = await opened();
  const made = await state.injectMessage({ role: "user", content: "a" });
  assert.equal(await state.deleteMessage(made.id), true);
  assert.equal(await state.deleteMessage(made.id), false);
  assert.equal(await state.deleteMessage("nonsense"), false);
  await state.queueMessage({ content: "q" });
  const [waiting] = (await state.getMessages()).messages;
  assert.equal(await state.deleteMessage(waiting!.id), true);
  assert.equal((await state.getMessages()).total, 0);
  const call = { id: "c1", type: "function" as const, function: { name: "add", arguments: "{}" } };
  const asked = await state.injectMessage({ role: "assistant", tool_calls: [call] });
  await state.injectMessage({ role: "tool", tool_call_id: "c1", content: "1" });
  assert.equal(await state.deleteMessage(asked.id), true);
  assert.equal((await state.getMessages()).total, 0, "its result goes with it");
});

test("attachments are files of the thread; a path is enough", async () => {
  const state = await opened();
  await state.writeFile("/attachments/a.txt", "hello", "text/plain");
  const made = await state.injectMessage({ role: "user", content: "see", attachments: [{ path: "/attachments/a.txt" }] });
  const { id, ...file } = made.attachments[0]!;
  assert.ok(id);
  assert.deepEqual(file, { type: "file", path: "/attachments/a.txt", name: "a.txt", mimeType: "text/plain", size: 5 });
  assert.deepEqual((await state.getMessage(made.id))?.attachments, made.attachments);
  await state.queueMessage({ content: "q", attachments: made.attachments });
  assert.deepEqual((await state.getMessages()).messages.at(-1)?.attachments, made.attachments);
  await assert.rejects(state.injectMessage({ role: "user", content: "x", attachments: [{ path: "/none" }] }), code("file_not_found"));
});

test("values are JSON; null and undefined delete, and what is no JSON is refused", async () => {
  const state = await opened();
  assert.equal(await state.getValue("n"), null);
  for (const value of [0, "", false, [1, null], { a: { b: "ü" } }]) {
    await state.setValue("n", value);
    assert.deepEqual(await state.getValue("n"), value);
  }
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  for (const wrong of [NaN, () => 1, loop, { deep: [Infinity] }, new Map([[1, 2]]), 1n]) {
    await assert.rejects(state.setValue("n", wrong), code("invalid_body"));
  }
  assert.deepEqual(await state.getValue("n"), { a: { b: "ü" } }, "the old value stays");
  await state.setValue("n", undefined);
  assert.equal(await state.getValue("n"), null);
  await state.setValue("a/b ?#", 1);
  await state.setValue("a/b ?#", null);
  assert.equal(await state.getValue("a/b ?#"), null);
  await assert.rejects(state.setValue("k".repeat(513), 1), Refused);
});

test("files are written, read, described and removed", async () => {
  const state = await opened();
  const written = await state.writeFile("docs//plan.md", "# Plan", "text/markdown", { metadata: { by: "ann" }, width: 3, height: 4 });
  assert.ok(written.createdAt > 1e15 && written.version > 0);
  const { createdAt, updatedAt, version, ...rest } = written;
  assert.deepEqual(rest, {
    path: "/docs/plan.md", name: "plan.md", mimeType: "text/markdown", storage: "thread", size: 6, isDirectory: false,
    metadata: { by: "ann" }, width: 3, height: 4,
  });
  assert.deepEqual(await state.statFile("/docs/plan.md/"), written);
  assert.equal(new TextDecoder().decode((await state.readFile("docs/plan.md"))!), "# Plan");
  const again = await state.writeFile("/docs/plan.md", new Uint8Array([0, 255]).buffer, "application/octet-stream");
  assert.ok(again.version > version && again.createdAt === createdAt && updatedAt <= again.updatedAt);
  assert.deepEqual(new Uint8Array((await state.readFile("/docs/plan.md"))!), new Uint8Array([0, 255]));
  await state.writeFile("/empty", "", "text/plain");
  assert.equal((await state.readFile("/empty"))?.byteLength, 0, "no bytes are not null");
  for (const missing of ["/none", "/docs/none"]) {
    assert.equal(await state.readFile(missing), null);
    assert.equal(await state.statFile(missing), null);
    assert.equal(await state.readFileStream(missing), null);
    assert.equal(await state.getFileThumbnail(missing), null);
    await state.unlinkFile(missing);
  }
  assert.equal(await state.readFile("/docs"), null, "a directory has no content");
  await state.unlinkFile("/empty");
  assert.equal(await state.statFile("/empty"), null);
  for (const outside of ["../x", "/docs/../../x", ".."]) {
    await assert.rejects(state.readFile(outside), code("path_escapes_root"));
    await assert.rejects(state.writeFile(outside, "", "text/plain"), code("path_escapes_root"));
  }
  assert.equal((await state.statFile("/docs/../docs/./plan.md"))?.path, "/docs/plan.md");
});

test("directories are made with those above, listed with those first, and removed when empty", async () => {
  const state = await opened();
  const made = await state.mkdirFile("/a/b");
  assert.deepEqual([made.path, made.isDirectory, made.size], ["/a/b", true, 0]);
  assert.equal((await state.mkdirFile("/a/b")).path, "/a/b");
  await state.writeFile("/z/deep/file", "1", "text/plain");
  await state.writeFile("/b.txt", "22", "text/plain");
  const list = async (path: string) => (await state.readdirFile(path)).entries.map((one) => [one.name, one.isDirectory]);
  assert.deepEqual(await list("/"), [["a", true], ["z", true], ["b.txt", false]]);
  assert.deepEqual(await list("/z"), [["deep", true]]);
  assert.deepEqual(await list("/none"), []);
  const root = await state.statFile("/");
  assert.deepEqual([root?.path, root?.isDirectory, await state.readFile("/"), await state.readFileStream("/")], ["/", true, null, null]);
  assert.deepEqual(await state.mkdirFile("."), root);
  for (const refused of [state.rmdirFile("/"), state.unlinkFile("/"), state.writeFile("/", "x", "text/plain")]) {
    await assert.rejects(refused, code("invalid_parameter"));
  }
  assert.ok((await state.readdirFile("/")).entries.every((one) => one.createdAt > 1e15));
  assert.deepEqual(await state.getFileStats(), { fileCount: 2, directoryCount: 4, totalSize: 3 });
  await assert.rejects(state.rmdirFile("/a"), code("directory_not_empty"));
  await state.rmdirFile("/a/b");
  assert.equal(await state.statFile("/a/b"), null);
  assert.deepEqual(await (await opened()).getFileStats(), { fileCount: 0, directoryCount: 0, totalSize: 0 });
});

test("grepFiles takes regular expressions, findFiles globs", async () => {
  const state = await opened();
  await state.writeFile("/a.ts", "one\ntwo 22\n", "text/plain");
  await state.writeFile("/src/b.ts", "x 333", "text/plain");
  assert.deepEqual(await state.grepFiles("\\d{2,}$"), [
    { path: "/a.ts", matches: [{ line: 2, column: 5, text: "two 22" }] },
    { path: "/src/b.ts", matches: [{ line: 1, column: 3, text: "x 333" }] },
  ]);
  assert.deepEqual(await state.grepFiles("nothing"), []);
  await assert.rejects(state.grepFiles("("), Refused);
  assert.deepEqual(await state.findFiles("/*.ts"), { paths: ["/a.ts"] });
  assert.deepEqual(await state.findFiles("**/*.ts"), { paths: ["/a.ts", "/src/b.ts"] });
  assert.deepEqual(await state.findFiles("*.rs"), { paths: [] });
});

test("a file is streamed in chunks; a small one is one chunk, and an abort ends it", async () => {
  const state = await opened();
  const bytes = new Uint8Array(2_500).map((_, at) => at % 251);
  await state.writeFile("/big", bytes.buffer, "application/octet-stream");
  const chunks = [];
  for await (const chunk of (await state.readFileStream("/big", { chunkSize: 1_000 }))!) chunks.push(chunk);
  assert.deepEqual(chunks.map(({ data, ...rest }) => [data.length, rest]), [
    [1_000, { index: 0, totalChunks: 3, isLast: false }],
    [1_000, { index: 1, totalChunks: 3, isLast: false }],
    [500, { index: 2, totalChunks: 3, isLast: true }],
  ]);
  assert.deepEqual(Buffer.concat(chunks.map((chunk) => chunk.data)), Buffer.from(bytes));
  const count = async (path: string, options = {}) => {
    let seen = 0;
    for await (const chunk of (await state.readFileStream(path, options))!) seen += chunk.isLast ? 100 : 1;
    return seen;
  };
  assert.equal(await count("/big"), 100);
  await state.writeFile("/none", "", "text/plain");
  assert.equal(await count("/none"), 100);
  const stop = new AbortController();
  let seen = 0;
  for await (const chunk of (await state.readFileStream("/big", { chunkSize: 100, signal: stop.signal }))!) {
    seen += chunk.data.length;
    if (seen === 300) stop.abort();
  }
  assert.equal(seen, 300);
  // All chunks are of the file that was asked for, also if it is written anew.
  const stream = (await state.readFileStream("/big", { chunkSize: 1_250 }))!;
  const parts: Uint8Array[] = [];
  for await (const chunk of stream) {
    parts.push(chunk.data);
    if (chunk.index === 0) await state.writeFile("/big", "short", "text/plain");
  }
  assert.deepEqual(Buffer.concat(parts), Buffer.from(bytes));
});

test("a thumbnail is the supplied one, or made of a picture", async () => {
  const state = await opened();
  const png = Uint8Array.from(
    atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    (letter) => letter.charCodeAt(0),
  );
  await state.writeFile("/a.png", png.buffer, "image/png");
  assert.ok((await state.getFileThumbnail("/a.png"))!.byteLength > 0);
  await state.writeFile("/b.bin", "x", "application/octet-stream", { thumbnail: png.buffer });
  assert.deepEqual(new Uint8Array((await state.getFileThumbnail("/b.bin"))!), png);
  await state.writeFile("/c.txt", "x", "text/plain");
  assert.equal(await state.getFileThumbnail("/c.txt"), null);
});

test("variables: a value or an error; unknown ones and those of the account are secrets", async () => {
  const state = await opened();
  await assert.rejects(state.env("NONE"), code("env_not_found"));
  assert.equal(await state.envType("NONE"), "secret");
  await state.setEnv("REGION", "north", { type: "text" });
  assert.deepEqual([await state.env("REGION"), await state.envType("REGION")], ["north", "text"]);
  await state.setEnv("REGION", "south");
  assert.deepEqual([await state.env("REGION"), await state.envType("REGION")], ["south", "text"], "the type stays");
  await state.setEnv("TOKEN", "");
  assert.deepEqual([await state.env("TOKEN"), await state.envType("TOKEN")], ["", "secret"]);
  await keep.env.set("SHARED", { value: "all", type: "text" });
  assert.deepEqual([await state.env("SHARED"), await state.envType("SHARED")], ["all", "secret"]);
  await assert.rejects(state.setEnv("no name", "x"), Refused);
});

test("definitions are listed and loaded; a missing one is an error", async () => {
  const state = await opened();
  // A model named `default` brings the agent `default` and its prompt.
  const agents = ["clerk", "default", "helper"];
  assert.deepEqual([state.getAgentNames(), state.getPromptNames(), state.getModelNames()], [agents, agents, ["default"]]);
  const agent = await state.loadAgent<{ name: string; type: string; sideA: { prompt: string } }>("helper");
  assert.deepEqual([agent.name, agent.type, agent.sideA.prompt], ["helper", "ai_human", "helper"]);
  assert.equal((await state.loadPrompt<{ model: string }>("helper")).model, "default");
  assert.equal((await state.loadModel<{ provider: string }>("default")).provider, "openai");
  for (const load of [state.loadAgent, state.loadPrompt, state.loadModel]) {
    await assert.rejects(load.call(state, "none"), (error: unknown) => error instanceof NotFound);
  }
});

test("tools are invoked, and queued in order", async () => {
  const state = await opened();
  assert.deepEqual(await state.invokeTool("count_words", { text: "a b c" }), { status: "success", result: "3" });
  const failed = await state.invokeTool("count_words", { text: "" });
  assert.ok(failed.status === "error" && failed.error?.includes("there is no text"), JSON.stringify(failed));
  const wrong = await state.invokeTool("count_words", {});
  assert.ok(wrong.status === "error" && wrong.error?.includes("args.text"), JSON.stringify(wrong));
  await assert.rejects(state.invokeTool("none", {}), code("tool_not_found"));

  // The server works for no agent of this name: what is queued waits.
  await keep.threads.assign(state.threadId, { agentId: "elsewhere" });
  const texts = Array.from({ length: 8 }, (_, n) => `n ${n}`);
  for (const text of texts) state.queueTool("count_words", { text });
  await state.settled();
  const waiting = await keep.threads.listQueuedTools(state.threadId).all();
  assert.deepEqual(waiting.map((one) => one.args["text"]), texts);
  state.queueTool("none", {});
  state.queueTool("count_words", { text: () => 1 });
  state.queueTool("count_words", { text: "after" });
  await assert.rejects(state.settled(), (error: unknown) => error instanceof AggregateError && error.errors.length === 2);
  await state.settled();
  assert.equal((await keep.threads.listQueuedTools(state.threadId).all()).length, 9, "what came after was carried out");
});

test("effects are scheduled, listed and cancelled", async () => {
  const state = await opened();
  const id = await state.scheduleEffect("remind", { text: "soon" }, 3_600_000);
  const [effect] = await state.getScheduledEffects();
  assert.deepEqual([effect?.id, effect?.name, effect?.args], [id, "remind", { text: "soon" }]);
  assert.ok(Math.abs(effect!.scheduledAt - effect!.createdAt - 3_600e6) < 60e6, "microseconds");
  assert.deepEqual(await state.getScheduledEffects("other"), []);
  assert.equal((await state.getScheduledEffects("remind")).length, 1);
  assert.equal(await state.removeScheduledEffect(id), true);
  assert.equal(await state.removeScheduledEffect(id), false);
  assert.equal(await state.removeScheduledEffect("nonsense"), false);
  await assert.rejects(state.scheduleEffect("none", {}), code("effect_not_found"));
});

test("events reach those who follow, in order", async () => {
  const state = await opened();
  await state.setValue("followed", true);
  const heard: unknown[] = [];
  const stop = new AbortController();
  let isOpen!: () => void;
  const open = new Promise<void>((resolve) => (isOpen = resolve));
  const following = (async () => {
    const onEvent = (told: { data: unknown }) => {
      const { event, data } = told.data as { event: string; data: unknown };
      heard.push([event, data]);
    };
    for await (const _ of keep.threads.follow(state.threadId, { signal: stop.signal, onEvent })) isOpen();
  })().catch(() => undefined);
  await open;
  for (let step = 0; step < 5; step++) state.emit("progress", { step });
  state.emit("done", undefined);
  await state.settled();
  await until(() => heard.length >= 6);
  stop.abort();
  await following;
  const steps = Array.from({ length: 5 }, (_, step) => ["progress", { step }]);
  assert.deepEqual(heard, [...steps, ["done", null]]);
  state.emit("", 1);
  await assert.rejects(state.settled(), Refused);
});

test("subagents: the registry, both directions, messages to the parent and status", async () => {
  const parent = await opened();
  const made = await keep.threads.createSubagent(parent.threadId, { name: "helper", description: "looks things up" } as never);
  const children = () => parent.children;
  assert.equal(children().length, 0, "as it was when it was opened");
  await parent.refresh();
  const [entry] = children();
  assert.deepEqual([entry?.reference, entry?.name, entry?.description], [made.id, "helper", "looks things up"]);
  assert.ok(entry!.createdAt! > 1e15);
  assert.ok(!Object.values(entry!).includes(null as never), "what is not there is left out");
  const child = (await parent.getChildThread(made.id))!;
  assert.equal(child.threadId, made.id);
  assert.equal((await child.getParentThread())?.threadId, parent.threadId);
  assert.equal(await parent.getParentThread(), null);
  assert.equal(await parent.getChildThread(parent.threadId), null);

  await child.notifyParent("halfway");
  assert.deepEqual(await texts(parent), [], "it is silent");
  assert.deepEqual(await texts(parent, { includeSilent: true }), ["halfway"]);
  await child.setStatus("running");
  await parent.refresh();
  assert.equal(children()[0]?.status, "running");
  await assert.rejects(child.notifyParent(" "), Refused);
  await assert.rejects(child.setStatus(""), Refused);
  await parent.notifyParent("nobody hears it");
  await parent.setStatus("nobody sees it");
  await child.terminate();
  await parent.refresh();
  assert.equal(children()[0]?.status, "terminated");
});

test("a live state follows the thread", async () => {
  const state = await opened();
  const live = await keep.state(state.threadId, { live: true });
  await keep.threads.createSubagent(state.threadId, { name: "helper", description: "d" } as never);
  await until(() => live.children.length === 1);
  await keep.threads.startRun(state.threadId, { executor: "caller" });
  await until(() => live.execution !== null);
  await keep.threads.terminate(state.threadId);
  await until(() => live.terminated !== null && live.execution === null);
  assert.deepEqual([state.children, state.execution, state.terminated], [[], null, null], "another one stays as it was");
  live.close();
  await live.settled();
});

test("execution is the run that is open, null at rest", async () => {
  const state = await keep.state((await keep.threads.create({ agentId: "helper" })).id);
  const present = () => state.execution;
  assert.equal(present(), null);
  const run = await keep.threads.startRun(state.threadId, { executor: "caller", message: { role: "user", content: "go" } });
  await keep.runs.step(run.id, { attempt: run.attempt, messages: [{ role: "assistant", content: "one" }] } as never);
  await state.refresh();
  const execution = present()!;
  assert.deepEqual(
    [execution.flowId, execution.currentSide, execution.stepCount, execution.sideAStepCount, execution.sideBStepCount],
    [run.id, "a", 1, 1, 0],
  );
  assert.deepEqual([execution.stopped, execution.stoppedBy, execution.promptPath], [false, undefined, ["helper"]]);
  assert.deepEqual(execution.messageHistory.map((one) => one.content), ["go", "one"]);
  assert.equal(execution.abortSignal.aborted, false);
  execution.stop();
  await state.settled();
  await state.refresh();
  assert.ok(execution.abortSignal.aborted, "the run was asked to stop");
  assert.ok(present()?.stopped ?? true);
});

test("terminate is for good", async () => {
  const state = await opened();
  await keep.threads.startRun(state.threadId, { executor: "caller" });
  await state.refresh();
  const { abortSignal } = state.execution!;
  await state.terminate();
  assert.ok(state.terminated! > 1e15 && state.execution === null && abortSignal.aborted);
  await assert.rejects(state.queueMessage({ content: "x" }), code("thread_terminated"));
  await assert.rejects(keep.threads.startRun(state.threadId, { executor: "caller" }), code("thread_terminated"));
  await state.terminate();
});

test("context is a scratch pad of its own", async () => {
  const state = await opened();
  state.context["n"] = 1;
  assert.deepEqual(state.context, { n: 1 });
  assert.deepEqual((await keep.state(state.threadId)).context, {});
});

test("calls keep the order in which they were made", async () => {
  const state = await opened();
  await keep.threads.assign(state.threadId, { agentId: "elsewhere" });
  for (let n = 0; n < 3; n++) state.queueTool("count_words", { text: `n${n}` });
  assert.equal((await state.invokeTool("count_words", { text: "a" })).status, "success");
  assert.equal((await keep.threads.listQueuedTools(state.threadId).all()).length, 3);
});

test("a side of a run with two is given the next turn", async () => {
  const state = await opened();
  const run = await keep.threads.startRun(state.threadId, { executor: "caller" });
  const step = (side: "a" | "b") => keep.runs.step(run.id, { attempt: run.attempt, model: { model: "m", side } });
  await state.refresh();
  const present = () => state.execution!;
  present().forceTurn("b");
  await assert.rejects(state.settled(), code("run_has_one_side"), "no step has named its side yet");
  await step("a");
  await state.refresh();
  present().forceTurn("b");
  await state.settled();
  assert.equal((await keep.threads.getExecution(state.threadId))?.forcedSide, "b");
  await step("b");
  await step("a");
  await state.refresh();
  const { currentSide, stepCount, sideAStepCount, sideBStepCount } = present();
  assert.deepEqual([currentSide, stepCount, sideAStepCount, sideBStepCount], ["a", 3, 2, 1]);
  assert.equal((await keep.threads.getExecution(state.threadId))?.forcedSide, undefined, "it was taken up");
  const over = present();
  await keep.runs.end(run.id, { attempt: run.attempt });
  over.forceTurn("a");
  await assert.rejects(state.settled(), code("run_over"));
});

test("a subagent is supplied with its variables", async () => {
  const state = await opened();
  const { id } = await keep.threads.createSubagent(state.threadId, { name: "clerk", agentId: "clerk" });
  const before = await keep.threads.getVariables(state.threadId, id);
  assert.deepEqual(before, { required: [{ name: "TOKEN", type: "text", description: "Opens the archive" }], missing: ["TOKEN"] });
  await assert.rejects(keep.threads.supplyVariables(state.threadId, id, { env: { TOKN: "x" } }), code("invalid_body"));
  const after = await keep.threads.supplyVariables(state.threadId, id, { env: { TOKEN: "open sesame" } });
  assert.deepEqual(after.missing, []);
  assert.equal(await (await keep.state(id)).env("TOKEN"), "open sesame");
  await assert.rejects(keep.threads.getVariables(state.threadId, state.threadId), code("thread_not_found"));
});
