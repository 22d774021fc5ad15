// An agent of your own: it takes what was queued, answers, and stops when nothing waits any more.
// Run: THREADKEEP_SERVER=http://127.0.0.1:8473 THREADKEEP_KEY=tk_… node agent.js

import { Threadkeep, type Message } from "@threadkeep/client";

/** Stands for a model. */
const answer = (question: Message): string => `You said: ${String(question.content)}`;

const keep = new Threadkeep();
const thread = await keep.threads.create({ title: "Echo" });
await keep.threads.queueMessage(thread.id, { role: "user", content: "Hello!" });

// A run takes up what was queued. Messages that arrive meanwhile are queued, and delivered by the next step.
const run = await keep.threads.startRun(thread.id, { executor: "caller" });
let delivered = run.delivered;
await keep.threads.queueMessage(thread.id, { role: "user", content: "Are you there?" });
while (delivered.length > 0) {
  const messages = delivered.map((message) => ({ role: "assistant" as const, content: answer(message) }));
  const step = await keep.runs.step(run.id, { attempt: run.attempt, messages });
  delivered = step.delivered.filter((message) => message.role === "user");
}
const ended = await keep.runs.end(run.id, { attempt: run.attempt, status: "completed" });
console.log(`${ended.status} after ${ended.stepCount} steps`);
for await (const { role, content } of keep.threads.listMessages(thread.id)) console.log(`${role}: ${String(content)}`);
