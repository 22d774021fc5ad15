// An agent that keeps its memory in Threadkeep, by the official client of the Model Context Protocol.
// Run: npm install @modelcontextprotocol/client, then: node remember.mjs
// `threadkeep` starts by itself and stores in ./threadkeep-data; THREADKEEP_DATA names another folder.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const client = new Client({ name: "remember", version: "1" });
const command = process.env.THREADKEEP_BINARY ?? "threadkeep";
const args = ["--data", process.env.THREADKEEP_DATA ?? "threadkeep-data", "mcp"];
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));

/** Calls a tool, and gives its answer. */
async function call(name, args) {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(answer.content[0].text);
  return answer.structuredContent;
}

const { id: thread } = await call("create", { title: "What I know of Ann" });
await call("append", { thread, role: "user", content: "Ann likes green tea." });
await call("set_value", { thread, valueKey: "tea", value: "green" });
console.log((await call("get_value", { thread, valueKey: "tea" })).value);

// Writing files needs a person's approval. The answer says so, and names it.
await call("write_file", { thread, path: "/ann.md", content: "# Ann" }).catch((error) => console.log(error.message.split(":")[0]));

// The thread is also a resource, and a prompt goes on with it.
const { contents } = await client.readResource({ uri: `threadkeep://thread/${thread}` });
console.log(contents[0].text.split("\n")[0]);
const { messages } = await client.getPrompt({ name: "continue_thread", arguments: { thread } });
console.log(messages[0].content.text.includes("green tea"));
await client.close();
