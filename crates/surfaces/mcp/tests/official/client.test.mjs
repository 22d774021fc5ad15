// The official TypeScript client, in both revisions, on stdio and over HTTP: an agent with the default tools alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { encode } from "gpt-tokenizer";
import { binary, serve } from "./server.mjs";

const REVISIONS = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };
let server;
before(async () => (server = await serve()));
after(() => server?.stop());

const DEADLINE_MS = 30_000;
const EXAMPLES = new URL("../../../../../examples/mcp/", import.meta.url);

/** The result of a promise, which has a deadline. */
function within(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("not in time")), DEADLINE_MS)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const ways = {
  stdio: () => new StdioClientTransport({ command: binary, args: ["--data", server.data, "mcp"], stderr: "ignore" }),
  http: () =>
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${server.agentKey}` } },
    }),
};

async function connected(way, revision) {
  const client = new Client(
    { name: "story-agent", version: "1" },
    { versionNegotiation: { mode: REVISIONS[revision] } },
  );
  await client.connect(ways[way]());
  return client;
}

/** Calls a tool that succeeds; its text is the same JSON as its structured content. */
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

async function refused(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(result.isError, `${name} succeeded: ${JSON.stringify(result.content)}`);
  return result.content[0].text;
}

for (const way of Object.keys(ways)) {
  for (const revision of Object.keys(REVISIONS)) {
    test(`an agent works with the default tools alone: ${way}, ${revision}`, async () => {
      const client = await connected(way, revision);
      assert.equal(client.getNegotiatedProtocolVersion(), revision);
      const { tools } = await client.listTools();
      assert.equal(tools.length, 26);
      const tokens = encode(JSON.stringify(tools)).length;
      assert.ok(tokens <= 8000, `${tokens} tokens`);

      // Create, continue, fork.
      const word = `zebra${way}${revision.replaceAll("-", "")}`;
      const { id: thread } = await call(client, "create", { title: `Agent ${word}` });
      await call(client, "append", { thread, role: "user", content: `Which parser, ${word}?` });
      await call(client, "append", { thread, role: "assistant", content: "The hand-written one." });
      const messages = await call(client, "read_messages", { thread });
      assert.equal(messages.items.length, 2);
      const name = way === "stdio" ? "story-agent" : messages.items[0].actor.name;
      assert.deepEqual([messages.items[0].actor.type, messages.items[0].actor.name], ["agent", name]);
      const fork = await call(client, "fork", { thread, messageIndex: 0, title: "Another way" });
      assert.equal((await call(client, "read_messages", { thread: fork.id })).items.length, 1);

      // Search, once the index has followed.
      let found = { results: [] };
      for (let tries = 0; tries < 200 && !JSON.stringify(found).includes(thread); tries++) {
        found = await call(client, "search", { query: word });
      }
      assert.ok(JSON.stringify(found).includes(thread), JSON.stringify(found));

      // Values, decisions, checkpoints, rollback, relatives.
      await call(client, "set_value", { thread, valueKey: "build/status", value: { ok: true } });
      assert.deepEqual((await call(client, "get_value", { thread, valueKey: "build/status" })).value, { ok: true });
      await call(client, "decide", { thread, question: "Which store?", answer: "SQLite" });
      await call(client, "checkpoint", { thread, name: "before" });
      const tree = await call(client, "tree", { thread });
      assert.ok(JSON.stringify(tree).includes(fork.id));
      const spawned = await call(client, "spawn", { thread, intent: "measure it", inherit: "none" });
      await call(client, "reference", { thread, target: fork.id });
      await call(client, "inject", { thread, type: "feedback", content: "be brief" });
      await call(client, "observe", { thread, target: spawned.threadId });
      await call(client, "queue", { thread, role: "user", content: "later" });
      await call(client, "handoff", { thread, goal: "go on" });

      // Writing a file needs an approval, and only a person gives it.
      const text = await refused(client, "write_file", { thread: fork.id, path: "a.txt", content: "hello" });
      assert.match(text, /^approval_required: /);
      const approval = text.match(/approval: ([0-9a-f-]{36})/)[1];
      assert.match(text, /a person has to answer it/);
      assert.equal((await call(client, "get_approval", { approval })).state, "pending");
      for (const name of ["approve", "deny"]) {
        await assert.rejects(client.callTool({ name, arguments: { approval } }), /there is no tool/);
      }
      await server.human("POST", `/approvals/${approval}/approve`, {});
      await call(client, "write_file", { thread: fork.id, path: "a.txt", content: "hello" });
      assert.equal((await call(client, "read_file", { thread: fork.id, path: "a.txt" })).content, "hello");
      assert.equal((await call(client, "list_files", { thread: fork.id })).items.length, 1);

      // A merge shows first what it would do.
      const merged = await call(client, "merge", { thread, sources: [fork.id], dryRun: true });
      assert.ok(JSON.stringify(merged).includes("a.txt"), JSON.stringify(merged));
      const asked = await call(client, "transfer", {
        thread,
        direction: "request_approval",
        scope: ["code_edit"],
        reason: "to merge",
      });
      assert.ok(asked.approvalId);

      // Errors say what to do.
      const { v } = await call(client, "get_thread", { thread });
      const conflict = await refused(client, "append", { thread, role: "user", content: "x", expectedVersion: v - 1 });
      assert.match(conflict, new RegExp(`^version_conflict: [^]*current version: ${v}`));
      assert.match(await refused(client, "read_messages", {}), /thread.*\n?.*search and list_threads find one/s);
      assert.match(await refused(client, "get_thread", { thread: "T-00000000-0000-4000-8000-000000000000" }), /^thread_not_found/);

      // A page is short, and says how to go on.
      for (let n = 0; n < 25; n++) await call(client, "append", { thread, role: "user", content: `n ${n}` });
      const page = await call(client, "read_messages", { thread, limit: 1000 });
      assert.ok(page.items.length <= 20 && page.nextCursor);
      const next = await call(client, "read_messages", { thread, cursor: page.nextCursor });
      assert.ok(next.items.length >= 5);
      await call(client, "append", { thread, role: "user", content: "long ".repeat(20000) });
      const long = await client.callTool({ name: "read_messages", arguments: { thread, order: "desc" } });
      assert.ok(long.content[0].text.length <= 21000, `${long.content[0].text.length}`);

      // Resources and prompts.
      const { resources } = await client.listResources();
      assert.ok(resources.some((resource) => resource.uri === `threadkeep://thread/${thread}`));
      assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
      const file = await client.readResource({ uri: `threadkeep://thread/${fork.id}/files/a.txt` });
      assert.equal(file.contents[0].text, "hello");
      const shown = await client.readResource({ uri: `threadkeep://thread/${fork.id}` });
      assert.match(shown.contents[0].text, /^# Another way[^]*## user[^]*Which parser/);
      const { prompts } = await client.listPrompts();
      assert.deepEqual(
        prompts.map((prompt) => prompt.name),
        ["continue_thread", "summarise_thread", "review_merge"],
      );
      const prompt = await client.getPrompt({ name: "continue_thread", arguments: { thread: fork.id } });
      assert.match(prompt.messages[0].content.text, /Which parser/);

      await call(client, "rollback", { thread, checkpoint: "before" });
      await call(client, "lifecycle", { thread, action: "done" });
      assert.match(await refused(client, "append", { thread, role: "user", content: "x" }), /^thread_closed/);
      await client.close();
    });

    test(`a change of a resource is told: ${way}, ${revision}`, async () => {
      if (way === "http" && revision === "2025-11-25") return; // Without a session there is no way to tell.
      const client = await connected(way, revision);
      const { id: thread } = await call(client, "create", { title: "Watched" });
      const uri = `threadkeep://thread/${thread}`;
      const told = new Promise((resolve) =>
        client.setNotificationHandler("notifications/resources/updated", (notification) => resolve(notification.params.uri)),
      );
      let subscription;
      if (revision === "2025-11-25") await client.subscribeResource({ uri });
      else subscription = await client.listen({ resourceSubscriptions: [uri] });
      // It is watched from the acknowledgement on; a message that comes before the stream is open is part of no change.
      await server.human("POST", `/threads/${thread}/messages`, { role: "user", content: "news" });
      assert.equal(await within(told), uri);
      await subscription?.close();
      await client.close();
    });

    test(`a change of a file is told, and of it alone: ${way}, ${revision}`, async () => {
      if (way === "http" && revision === "2025-11-25") return;
      const client = await connected(way, revision);
      const { id: thread } = await call(client, "create", { title: "Watched" });
      const uri = `threadkeep://thread/${thread}/files/docs/a%20b.txt`;
      const told = [];
      let wake = () => {};
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => wake(told.push(params.uri)));
      const toldTimes = (count) =>
        within(
          new Promise((resolve) => {
            wake = () => told.length >= count && resolve(told);
            wake();
          }),
        );
      let subscription;
      if (revision === "2025-11-25") await client.subscribeResource({ uri });
      else subscription = await client.listen({ resourceSubscriptions: [uri] });
      const write = (path, text) => server.write(thread, path, text);
      await server.human("POST", `/threads/${thread}/messages`, { role: "user", content: "/docs/a b.txt" });
      await write("docs/a%20b.txt.bak", "other");
      const { v } = await call(client, "get_thread", { thread });
      await write("docs/a%20b.txt", "one");
      await toldTimes(1);
      assert.equal((await client.readResource({ uri })).contents[0].text, "one");
      // A rollback changes it without naming it.
      await server.human("POST", `/threads/${thread}/rollback`, { version: v });
      assert.deepEqual(await toldTimes(2), [uri, uri]);
      await assert.rejects(client.readResource({ uri }), /file_not_found/);
      await subscription?.close();
      await client.close();
    });
  }
}

test("a key is needed, and a key of a person acts as an agent", async () => {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: "{}",
  });
  assert.equal(response.status, 401);
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${server.key}` } },
  });
  const client = new Client({ name: "x", version: "1" });
  await client.connect(transport);
  const { id: thread } = await call(client, "create", { title: "By a person's key" });
  await call(client, "append", { thread, role: "user", content: "hi" });
  assert.equal((await call(client, "read_messages", { thread })).items[0].actor.type, "agent");
  assert.match(await refused(client, "write_file", { thread, path: "a", content: "b" }), /^approval_required/);
  await client.close();
});

/** What the examples print. */
const SHOWN = { "remember.mjs": "green\napproval_required\n# What I know of Ann\ntrue\n" };

test("the examples work", () => {
  // Beside this file they find the official client.
  const folder = mkdtempSync(new URL("example-", import.meta.url).pathname);
  try {
    for (const example of readdirSync(EXAMPLES)) {
      const source = new URL(example, EXAMPLES);
      assert.ok(readFileSync(source, "utf8").split("\n").length <= 41, `${example} is short`);
      copyFileSync(source, `${folder}/${example}`);
      const env = { ...process.env, THREADKEEP_BINARY: binary, THREADKEEP_DATA: `${folder}/data` };
      const told = execFileSync(process.execPath, [example], { cwd: folder, env, encoding: "utf8", timeout: DEADLINE_MS });
      assert.equal(told, SHOWN[example]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
