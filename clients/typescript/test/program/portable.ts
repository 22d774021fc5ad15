// A program that knows the interface alone: it could be a tool on a server.

import type { FileChunk, ThreadState } from "@threadkeep/client/thread-state";

export async function program(state: ThreadState): Promise<string[]> {
  const told: string[] = [];
  const count = (await state.getValue<number>("invocation_count")) ?? 0;
  await state.setValue("invocation_count", count + 1);
  const made = await state.injectMessage({ role: "user", content: "Which tea?" });
  await state.updateMessage(made.id, { metadata: { seen: true } });
  await state.queueMessage({ role: "user", content: "Hurry." });
  const { messages, total, hasMore } = await state.getMessages({ limit: 10 });
  told.push(...messages.map((message) => `${message.role}: ${message.content ?? ""} (${message.status})`), `${total} ${hasMore}`);
  await state.setEnv("PUBLIC_LABEL", "QA", { type: "text" });
  told.push(`${await state.env("PUBLIC_LABEL")} ${await state.envType("PUBLIC_LABEL")}`);
  const record = await state.writeFile("/notes/tea.md", "# Tea", "text/markdown");
  const stream: AsyncIterable<FileChunk> | null = await state.readFileStream(record.path);
  if (stream) for await (const chunk of stream) told.push(new TextDecoder().decode(chunk.data));
  for (const { path, matches } of await state.grepFiles("^# ")) told.push(`${path} ${matches.length}`);
  const run = state.runCode("export default (n: number) => n * 2", { execute: { args: [21] } });
  const outcome = await run;
  told.push(`${outcome.status} ${String(outcome.result)}`);
  state.emit("progress", { step: 1, total: 2 });
  state.context["user"] = { name: "Ann" };
  const parent: ThreadState | null = await state.getParentThread();
  told.push(`parent ${String(parent)}, children ${state.children.length}, at rest ${state.execution === null}`);
  if (state.terminated === null) await state.terminate();
  told.push(`terminated ${typeof state.terminated}`);
  return told;
}
