// One program, as a tool on the server and through this client: both states show the same.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { ThreadState } from "../src/index.js";
import { Server } from "./server.js";

/** JavaScript that both run. Ids, times and versions differ between two threads, so it tells their types. */
const PROGRAM = `async (state) => {
  const told = {};
  const message = (one) => one && { ...one, id: typeof one.id, created_at: Number.isInteger(one.created_at) };
  const file = (one) => one && { ...one, createdAt: one.createdAt > 1e15, updatedAt: one.updatedAt > 1e15, version: typeof one.version };
  const refused = (promise) => promise.then(() => "done", () => "refused");
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };

  const made = await state.injectMessage({ role: "assistant", content: "x", tool_calls: [call], metadata: { a: 1 } });
  told.made = message(made);
  told.updated = message(await state.updateMessage(made.id, { content: "y", metadata: { b: 2 } }));
  const result = await state.injectMessage({ role: "tool", tool_call_id: "c", content: "1" });
  told.result = message(await state.updateMessage(result.id, { content: "2" }));
  const orders = [{}, { limit: 2 }, { limit: 2, offset: 1 }, { order: "asc", limit: 2 }, { order: "desc", offset: 1 }, { limit: 0 }];
  const list = async (options) => {
    const { messages, total, hasMore } = await state.getMessages(options);
    return [messages.map((one) => [one.role, one.content, one.status]), total, hasMore];
  };
  told.lists = await Promise.all(orders.map(list));
  const waiting = (await state.getMessages({ order: "desc", limit: 1 })).messages[0];
  told.waiting = [message(waiting), message(await state.getMessage(waiting.id))];
  told.edited = message(await state.updateMessage(waiting.id, { content: "edited" }));
  told.deleted = [await state.deleteMessage(waiting.id), await state.deleteMessage("nonsense"), await state.deleteMessage(made.id), await state.deleteMessage(made.id)];
  told.left = (await state.getMessages()).total;
  told.unknown = [await state.getMessage("nonsense"), await refused(state.updateMessage("M-00000000000000000", { content: "x" }))];

  told.written = file(await state.writeFile("d//a.txt", "hi", "text/plain", { metadata: { by: "ann" } }));
  told.listed = (await state.readdirFile("/")).entries.map(file);
  told.directory = [file(await state.mkdirFile("/e")), file(await state.statFile("/d")), await state.readFile("/d")];
  told.missing = [await state.readFile("/none"), await state.statFile("/none"), await state.readdirFile("/none"), await state.getFileThumbnail("/d/a.txt")];
  told.found = [await state.grepFiles("h."), await state.findFiles("**/*.txt"), await state.getFileStats()];
  told.outside = [await refused(state.readFile("../x")), await refused(state.rmdirFile("/d"))];
  told.values = [await state.getValue("none"), await refused(state.setValue("a", NaN)), await state.setValue("a", { b: 1 }), await state.getValue("a")];
  told.env = [await state.envType("NONE"), await refused(state.env("NONE"))];
  told.identity = [state.agentId, state.userId, state.children, state.terminated, state.execution, state.getAgentNames()];
  told.family = [await state.getParentThread(), await state.getChildThread(state.threadId)];
  const { durationMs, ...outcome } = await state.runCode("report(2); console.log(3); export default 1");
  told.code = outcome;
  return told;
}`;

let server: Server;
before(async () => {
  const tool = `
    import { defineTool } from "threadkeep";
    const program = ${PROGRAM};
    export default defineTool({ description: "All", args: { type: "object" }, execute: async (state) => JSON.stringify(await program(state)) });`;
  server = await Server.start({ "tools/all.ts": tool });
});
after(() => server.stop());

test("a tool on the server and this client see the same", async () => {
  const keep = server.client();
  const prepared = async () => {
    const state = await keep.state((await keep.threads.create({})).id);
    await state.queueMessage({ content: "later", metadata: { n: 1 } });
    return state;
  };
  const inside = await (await prepared()).invokeTool("all", {});
  assert.equal(inside.status, "success", inside.error);
  const program = new Function(`return ${PROGRAM}`)() as (state: ThreadState) => Promise<unknown>;
  assert.deepEqual(JSON.parse(inside.result!), JSON.parse(JSON.stringify(await program(await prepared()))));
});
