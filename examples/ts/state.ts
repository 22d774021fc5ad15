// A function that knows the ThreadState interface alone. As a tool it runs on a server; here it runs beside one.
// Run: THREADKEEP_SERVER=http://127.0.0.1:8473 THREADKEEP_KEY=tk_… node state.js

import { Threadkeep } from "@threadkeep/client";
import type { ThreadState } from "@threadkeep/client/thread-state";

async function note(state: ThreadState, text: string): Promise<string> {
  const notes = (await state.getValue<string[]>("notes")) ?? [];
  await state.setValue("notes", [...notes, text]);
  await state.writeFile("/notes.md", [...notes, text].map((line) => `- ${line}\n`).join(""), "text/markdown");
  state.emit("noted", { count: notes.length + 1 });
  return `${notes.length + 1} notes`;
}

const keep = new Threadkeep();
const thread = await keep.threads.create({ title: "Garden" });
const state = await keep.state(thread.id);

console.log(await note(state, "Buy ferns."));
console.log(await note(state, "Water them."));
await state.injectMessage({ role: "assistant", content: "I wrote it down." });
await state.queueMessage({ role: "user", content: "What did you write?" });
for (const message of (await state.getMessages()).messages) console.log(`${message.role} (${message.status}): ${message.content}`);
for (const { path, matches } of await state.grepFiles("^- W")) console.log(`${path}:${matches[0]?.line} ${matches[0]?.text}`);

// Code runs on the server, in a process that reaches nothing.
const { status, result } = await state.runCode("export default (words: string[]) => words.length", { execute: { args: [["a", "b"]] } });
console.log(status, result);

// Events and queued tools are sent in order; `settled` throws what failed.
await state.settled();
