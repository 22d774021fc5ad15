// The installed package, used as a program uses it.

import { Conflict, Threadkeep, type Thread, type ThreadState } from "@threadkeep/client";
import { program } from "./portable.js";

const keep = new Threadkeep();
const thread: Thread = await keep.threads.create({ title: "Tea" });
const state: ThreadState = await keep.state(thread.id);
const told = await program(state);
const refused = await keep.threads.queueMessage(thread.id, { role: "user", content: "late" }).catch((error: unknown) => error);
if (!(refused instanceof Conflict)) throw new Error("a terminated thread takes no messages");
for await (const file of keep.threads.files.list(thread.id)) told.push(file.path);
console.log(JSON.stringify(told));
