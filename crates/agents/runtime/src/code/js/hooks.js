// What each hook is given and gives back, in the shapes of the contract. The host has those of the wire.

import { body, child, message, withText } from "threadkeep/state";

/** The place of a message in the list that a hook was given. It goes along with copies. */
const PLACE = Symbol("place");

const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
const shown = (of) => message({ silent: false, depth: 0, metadata: {}, status: "completed", ...of });

/** A message as models are given it. */
function chat(of) {
  const { role, content, name, tool_calls, tool_call_id } = shown(of);
  const fields = { role, content, name, tool_calls, tool_call_id };
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => value !== null || field === "content"));
}

/** The message of the wire, with what the hook changed of what it was shown. */
function changed(old, before, after) {
  const told = { ...before, ...after };
  let { content } = old;
  if (!same(told.tool_calls, before.tool_calls)) ({ content } = body(told));
  else if (!same(told.content, before.content)) content = withText(old.content, told.content ?? "");
  const role = told.role === before.role ? old.role : told.role;
  const fields = { ...old, role, content };
  for (const field of ["name", "silent", "metadata"]) {
    if (!same(told[field], before[field])) fields[field] = told[field] ?? undefined;
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** One message for each result. */
function parted(of) {
  const isResult = (part) => part.type === "tool_result";
  if (typeof of.content === "string" || of.content.filter(isResult).length < 2) return [of];
  const rest = of.content.filter((part) => !isResult(part));
  const results = of.content.filter(isResult).map((part) => ({ ...of, content: [part] }));
  return rest.length === 0 ? results : [...results, { ...of, content: rest }];
}

/** A list of messages: those that the hook keeps stay as they were, but for what it changed. */
async function listed(run, all, show) {
  const given = all.flatMap(parted);
  const told = given.map((one, at) => Object.assign(show(one), { [PLACE]: at }));
  const returned = (await run(told)) ?? told;
  if (!Array.isArray(returned)) throw new TypeError("the hook gives a list of messages");
  return returned.map((one) => {
    const at = one[PLACE];
    if (at === undefined) return body(one);
    const { id, role, name, content } = changed(given[at], show(given[at]), one);
    return { id, role, name, content };
  });
}

/** A result that the hook may change; null drops it with its call. */
async function result(run, call, told) {
  const returned = await run(call, told);
  if (returned === null) return null;
  return { ...told, ...returned };
}

const text = async (run, told) => {
  const returned = (await run(told)) ?? told;
  if (typeof returned !== "string") throw new TypeError("the hook gives a text");
  return returned;
};

const seen = async (run, ...about) => void (await run(...about));

const WAYS = {
  after_thread_created: seen,
  after_subagent_created: (run, of) => seen(run, child(of)),
  after_system_message: text,
  filter_messages: (run, all) => listed(run, all, shown),
  prefilter_llm_history: (run, all) => listed(run, all, chat),
  before_create_message: async (run, old) => {
    const told = shown(old);
    return changed(old, shown(old), (await run(told)) ?? told);
  },
  after_create_message: (run, of) => seen(run, message(of)),
  before_update_message: async (run, id, changes) => (await run(id, changes)) ?? changes,
  after_update_message: (run, of) => seen(run, message(of)),
  before_store_tool_result: async (run, call, told) => ({ ...told, ...((await run(call, told)) ?? told) }),
  after_tool_call_success: result,
  after_tool_call_failure: result,
};

/** Runs a hook with what it is about, and gives what takes its place. */
export const hooked = (hook, run, about) => WAYS[hook](run, ...about);
