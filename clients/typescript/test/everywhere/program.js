// One and the same program for Node, Deno, Bun and browsers: it creates, appends, follows through a cut, keeps a file, and is
// refused. It gives lines that say what happened.

import { Conflict, NotFound, Threadkeep } from "@threadkeep/client";

export async function program({ url, key }) {
  const keep = new Threadkeep({ url, key });
  const told = [];
  const thread = await keep.threads.create({ title: "Everywhere" });
  const append = (content) => keep.threads.appendMessages(thread.id, { role: "user", content });
  await append("one");
  const next = {
    one: async () => {
      // The stream is cut, and the next message is there before it is open again.
      await fetch(`${url}/cut`, { method: "POST" });
      await append("two");
    },
    two: () => append("three"),
  };
  for await (const entry of keep.threads.follow(thread.id)) {
    const content = entry.data?.content;
    if (typeof content !== "string") continue;
    told.push(`${entry.version}: ${content}`);
    if (!next[content]) break;
    await next[content]();
  }

  const bytes = new Uint8Array(300_000).map((_, at) => at % 251);
  const written = await keep.threads.files.write(thread.id, "/data/bytes.bin", new Blob([bytes]));
  const read = await keep.threads.files.read(thread.id, "/data/bytes.bin");
  told.push(`${written.size} bytes, ${read.every((byte, at) => byte === bytes[at]) ? "the same" : "others"}`);
  const part = await keep.threads.files.open(thread.id, "/data/bytes.bin", { range: "bytes=250-252" });
  told.push(`${part.status} ${[...new Uint8Array(await part.arrayBuffer())].join(" ")}`);
  for await (const file of keep.threads.files.list(thread.id)) told.push(file.path);

  const refused = async (asked) => {
    const error = await asked.then(
      () => new Error("it was not refused"),
      (error) => error,
    );
    return `${error.name} ${error.code} ${error instanceof NotFound || error instanceof Conflict}`;
  };
  told.push(await refused(keep.threads.get("T-00000000-0000-4000-8000-000000000000")));
  await keep.threads.terminate(thread.id);
  told.push(await refused(keep.threads.queueMessage(thread.id, { role: "user", content: "late" })));
  return told;
}
