// A Threadkeep server of its own for a test, and a key of an agent for it.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const binary = process.env.THREADKEEP_BINARY;
if (!binary) throw new Error("set THREADKEEP_BINARY to the path of the program threadkeep");

export async function serve() {
  const data = mkdtempSync(join(tmpdir(), "threadkeep-mcp-"));
  const child = spawn(binary, ["serve", "--data", data, "--listen", "127.0.0.1:0", "--json"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ready = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const agentKey = execFileSync(binary, ["--data", data, "keys", "create", "--account", "local", "--agent"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
  return {
    data,
    url: ready.url,
    key: ready.apiKey,
    agentKey,
    async human(method, path, body) {
      const response = await fetch(`${ready.url}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ready.apiKey}`, "content-type": "application/json" },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const told = await response.json();
      if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(told)}`);
      return told;
    },
    /** Writes a file, as a person. `path` is escaped. */
    async write(thread, path, text) {
      const headers = { authorization: `Bearer ${ready.apiKey}`, "content-type": "text/plain" };
      const response = await fetch(`${ready.url}/v1/threads/${thread}/files/${path}`, { method: "PUT", headers, body: text });
      if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    },
    async stop() {
      child.removeAllListeners("exit");
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}
