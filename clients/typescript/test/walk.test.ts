// Every call of the table is sent once, with the example of its documentation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { Refused } from "../src/index.js";
import { facts } from "../src/printed/calls.js";
import { Way, type Facts } from "../src/way.js";
import { Server } from "./server.js";

interface Document {
  paths: Record<string, Record<string, { operationId?: string; requestBody?: { content: Record<string, { example?: unknown }> } }>>;
}

const document = JSON.parse(readFileSync("../../spec/openapi.json", "utf8")) as Document;
const example = (id: string): unknown => {
  const operations = Object.values(document.paths).flatMap((verbs) => Object.values(verbs));
  return operations.find((one) => one.operationId === id)?.requestBody?.content["application/json"]?.example ?? {};
};

let server: Server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

/** Refusals that say that the client sent the wrong thing. */
const MISTAKES = ["route_not_found", "method_not_allowed", "invalid_body", "invalid_parameter", "not_understood"];

test("every call reaches its route", async () => {
  const way = new Way({ url: server.url, key: server.key });
  const keep = server.client();
  // Calls that examples name others for are refused by the thread's state, not by its shape.
  for (const one of Object.values(facts) as Facts[]) {
    const thread = (await keep.threads.create({})).id;
    const message = await keep.threads.appendMessages(thread, { role: "user", content: "Hello" });
    const parts = {
      thread,
      message: (message as { id: string }).id,
      valueKey: "plan",
      name: "REGION",
      codeRun: "nightly",
      tool: "skill",
      kind: "skills",
      definition: "review",
      project: "demo",
      key: "k_0123456789abcdef",
    } as Record<string, string>;
    const named = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    for (const name of named) parts[name] ??= "019a1b2c-3d4e-7f56-8a9b-0c1d2e3f4a5b";
    const options = one.honours.includes("writer") && one.path.endsWith("/writer") ? { writer: "0123456789abcdef" } : {};
    try {
      await way.call(one, parts, one.body ? example(one.id) : undefined, options);
    } catch (error) {
      assert.ok(error instanceof Refused, `${one.id}: ${String(error)}`);
      assert.ok(!MISTAKES.includes(error.code), `${one.id}: ${error.code} ${error.message}`);
    }
  }
});
