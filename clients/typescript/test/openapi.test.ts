// An independent printer agrees: the types that openapi-typescript prints from the document take the requests of this client,
// and give its answers.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

import { facts } from "../src/printed/calls.js";

const FOLDER = "build/openapi";

const HEAD = `
import type { operations } from "./document.js";
import type * as calls from "../../src/printed/calls.js";
import type { Paged } from "../../src/way.js";

type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? R[S] : never }[keyof R];
type Answer<O> = O extends { responses: infer R } ? (Success<R> extends { content: { "application/json": infer A } } ? A : never) : never;
type Item<P> = P extends Paged<infer I> ? I : never;
type ItemOf<A> = A extends { items: (infer I)[] } ? I : never;
type Fits<A extends B, B> = [A] extends [never] ? false : true;
type True<Holds extends true> = Holds;
`;

/** One method of the printed client: the call it makes, its class and name, and where its parameters are. */
const METHOD = /^ {2}(?!constructor)(\w+)\([^]*?\n {4}return this\.way\.(call|pages)\(facts\.(\w+), \{([^}]*)\}, (params|undefined), options\);$/gm;

test("types of openapi-typescript take our requests and give our answers", async () => {
  mkdirSync(FOLDER, { recursive: true });
  const document = JSON.parse(readFileSync("../../spec/openapi.json", "utf8")) as never;
  const printed = await openapiTS(document, { defaultNonNullable: false, silent: true });
  writeFileSync(join(FOLDER, "document.ts"), astToString(printed));

  const source = readFileSync("src/printed/calls.ts", "utf8");
  const lines: string[] = [];
  const checked = new Set<string>();
  for (const text of source.split(/^export class /m).slice(1)) {
    const room = /^\w+/.exec(text)![0];
    for (const [, name, way, id, parts, params] of text.matchAll(METHOD)) {
      const [method, operation] = [`calls.${room}["${name}"]`, `operations["${id}"]`];
      const answer = `Answer<${operation}>`;
      const [theirs, ours] = way === "pages" ? [`ItemOf<${answer}>`, `Item<ReturnType<${method}>>`] : [answer, `Awaited<ReturnType<${method}>>`];
      lines.push(`export type Gives_${id} = True<Fits<${theirs}, ${ours}>>;`);
      if (params === "params") {
        const at = parts!.split(",").filter((part) => part.trim() !== "").length;
        const taken = facts[id as keyof typeof facts].body ? `Body<${operation}>` : `Query<${operation}>`;
        lines.push(`export type Takes_${id} = True<Fits<NonNullable<Parameters<${method}>[${at}]>, ${taken}>>;`);
      }
      checked.add(id!);
    }
  }
  assert.deepEqual(Object.keys(facts).filter((id) => !checked.has(id)), [], "every call is checked");
  const file = join(FOLDER, "check.ts");
  writeFileSync(file, HEAD + lines.join("\n"));

  const options = { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.asynciterable.d.ts"], types: [] };
  const program = ts.createProgram([file], { ...options, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext });
  const problems = ts.getPreEmitDiagnostics(program).map((problem) => {
    const line = problem.file && problem.start !== undefined ? problem.file.text.slice(0, problem.start).split("\n").length : 0;
    const at = problem.file?.text.split("\n")[line - 1] ?? "";
    return `${at.trim()}\n${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`;
  });
  assert.deepEqual(problems, []);
});
