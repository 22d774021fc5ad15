// The first module of every worker that runs code of definitions: describes a definition, or carries it out.

import { hooked } from "threadkeep/hooks";
import { makeState, settled } from "threadkeep/state";

const KIND = Symbol.for("threadkeep.kind");

/** The fields of each kind, with those that must be functions last. */
const FIELDS = {
  tool: ["name", "description", "args", "variables", "uses", "needs", "timeoutMs", "repeatable", "parallel", "http", "skill", "execute"],
  effect: ["name", "description", "schema", "variables", "uses", "timeoutMs", "http", "handler"],
  hook: ["hook", "id", "variables", "uses", "http", "execute"],
  endpoint: ["description", "access", "variables", "uses", "http", "handler"],
};
const FUNCTION = { tool: "execute", effect: "handler", hook: "execute", endpoint: "handler" };

class Wrong extends Error {
  constructor(message, field) {
    super(message);
    this.name = "DefinitionError";
    if (field !== undefined) this.message = `${message}\u0000${field}`;
  }
}

function checked(module, kind) {
  const made = module.default;
  if (made === undefined) throw new Wrong("the module has no default export");
  // An endpoint may be a plain function.
  const definition = kind === "endpoint" && typeof made === "function" ? { [KIND]: kind, handler: made } : made;
  if (definition?.[KIND] !== kind) {
    throw new Wrong(`the default export is not made by define${kind[0].toUpperCase()}${kind.slice(1)}`);
  }
  for (const field of Object.keys(definition)) {
    if (!FIELDS[kind].includes(field)) throw new Wrong(`unknown field '${field}' (known: ${FIELDS[kind].join(", ")})`, field);
  }
  if (typeof definition[FUNCTION[kind]] !== "function") throw new Wrong(`the field '${FUNCTION[kind]}' is missing`);
  return definition;
}

/** The JSON schema of arguments: those of our `z`, of a zod that the user brings, or a schema as it is. */
function schema(args) {
  if (args === undefined || args === null) return { type: "object" };
  if (typeof args.toJSONSchema === "function") return args.toJSONSchema();
  if (typeof args.safeParse === "function") return { type: "object" };
  return args;
}

/** What a definition says of itself, without its functions. */
export function describe(module, kind) {
  const { ...said } = checked(module, kind);
  const args = schema(said.args ?? said.schema);
  for (const field of ["args", "schema", FUNCTION[kind]]) delete said[field];
  return { ...said, args };
}

function parsed(args, given) {
  if (typeof args?.safeParse !== "function") return given;
  const read = args.safeParse(given);
  if (read.success) return read.data;
  const issues = read.error.issues ?? read.error.errors ?? [];
  const told = issues.map(({ path, message }) => `${["args", ...path].join(".")}: ${message}`).join("; ");
  throw Object.assign(new Error(told || String(read.error)), { name: "ArgumentError" });
}

/** Carries a definition out: its function with a state and its arguments. */
export async function execute(module, kind, task) {
  const definition = checked(module, kind);
  const given = parsed(definition.args ?? definition.schema, task.args);
  const asked = { stop: false, forceTurn: null };
  const execution = task.execution && {
    ...task.execution,
    abortSignal: { aborted: false, addEventListener() {}, removeEventListener() {} },
    stop: () => void (asked.stop = true),
    forceTurn: (side) => void (asked.forceTurn = side),
  };
  const work = { context: task.context, execution, runtimeContext: task.runtimeContext };
  const state = makeState(task.record, work);
  const run = definition[FUNCTION[kind]];
  const ways = {
    endpoint: () => run(request(task.request), state, task.params),
    hook: () => hooked(definition.hook, (...about) => run(state, ...about), task.about),
  };
  const result = await (ways[kind] ?? (() => run(state, given, task.options)))();
  await settled();
  const returned = kind === "endpoint" ? await answered(result) : result;
  return { result: returned, context: work.context === state.context ? state.context : { ...state.context }, ...asked };
}

/** A request as endpoints get it: the part of the web's `Request` that needs no network. */
function request({ method, url, path, query, headers, body }) {
  const bytes = new Uint8Array(body);
  const text = () => decoded(bytes);
  return {
    method,
    url,
    path,
    query,
    headers: {
      get: (name) => headers[String(name).toLowerCase()] ?? null,
      has: (name) => String(name).toLowerCase() in headers,
      entries: () => Object.entries(headers)[Symbol.iterator](),
      forEach: (each) => Object.entries(headers).forEach(([name, value]) => each(value, name)),
      [Symbol.iterator]: () => Object.entries(headers)[Symbol.iterator](),
    },
    text: async () => text(),
    json: async () => JSON.parse(text()),
    arrayBuffer: async () => body,
  };
}

/** UTF-8 as text: the worker has no TextDecoder. */
function decoded(bytes) {
  let escaped = "";
  for (const byte of bytes) escaped += `%${byte.toString(16).padStart(2, "0")}`;
  return decodeURIComponent(escaped);
}

/** What an endpoint returned: a Response of `threadkeep`, {status, headers, body}, or a value that becomes JSON. */
async function answered(given) {
  if (given === undefined || given === null) return { status: 204, headers: {}, body: "" };
  if (given.isResponse) return { status: given.status, headers: given.headers, body: given.body };
  if (typeof given === "string") return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: given };
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(given) };
}
