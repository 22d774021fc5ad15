// A conversation: written, forked, rolled back, and followed live.
// Run: THREADKEEP_SERVER=http://127.0.0.1:8473 THREADKEEP_KEY=tk_… node conversation.js

import { Conflict, Threadkeep } from "@threadkeep/client";

const keep = new Threadkeep();
const thread = await keep.threads.create({ title: "Parser" });
await keep.threads.appendMessages(thread.id, { role: "user", content: "Which parser do we ship?" });
await keep.threads.appendMessages(thread.id, { role: "assistant", content: "The hand-written one." });

// A fork shares the messages before it.
const fork = await keep.threads.fork(thread.id, { messageIndex: 0, title: "Numbers" });
await keep.threads.appendMessages(fork.id, { role: "user", content: "Show me the numbers first." });
for await (const message of keep.threads.listMessages(fork.id)) console.log(`${message.role}: ${String(message.content)}`);

// A writer with an old version gets a conflict instead of overwriting.
try {
  await keep.threads.update(thread.id, { title: "Parsers" }, { expectedVersion: 1 });
} catch (error) {
  if (!(error instanceof Conflict)) throw error;
  console.log(`conflict: the thread is at version ${error.currentVersion}`);
}

// Back to the first message, and forward again. Nothing is lost.
const back = await keep.threads.rollBack(thread.id, { version: 1 });
const forward = await keep.threads.rollBack(thread.id, { undo: true });
console.log(`${back.messageCount} message, then ${forward.messageCount}`);

// A stream gives each entry once, however often the connection breaks.
for await (const entry of keep.threads.follow(fork.id)) {
  console.log(`entry ${entry.kind}`);
  if (entry.version >= (await keep.threads.get(fork.id)).v) break;
}
