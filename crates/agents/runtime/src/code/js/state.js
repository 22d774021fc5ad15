// ThreadState: the one interface by which tools, effects, hooks and endpoints reach their thread. Every method is a call of
// the host, with the authority of the caller.

import * as host from "threadkeep/host";

let runs = 0;

/** Calls that answer nothing, and are awaited before the work ends. */
const pending = [];
const later = (promise) => {
  pending.push(promise);
};

/** Waits for what was begun without being awaited; its errors are those of the work. */
export async function settled() {
  while (pending.length > 0) await Promise.all(pending.splice(0));
}

/** Microseconds since 1970 of a time such as 2027-01-31T12:00:00.123456Z; null for none. */
function micros(time) {
  if (time === null || time === undefined) return null;
  const [, seconds, fraction] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return Date.parse(`${seconds}Z`) * 1000 + Number((fraction ?? "").padEnd(6, "0").slice(0, 6));
}

const given = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** A message as the contract shows it. */
export function message(of) {
  const parts = typeof of.content === "string" ? [{ type: "text", text: of.content }] : of.content;
  const texts = parts.filter((part) => part.type === "text").map((part) => part.text);
  const result = parts.find((part) => part.type === "tool_result");
  const calls = parts.filter((part) => part.type === "tool_use");
  const said = result ? (typeof result.content === "string" ? result.content : JSON.stringify(result.content)) : texts.join("\n");
  return {
    id: of.id,
    role: of.role === "info" ? "system" : of.role,
    content: texts.length === 0 && !result ? null : said,
    name: of.name ?? null,
    tool_call_id: result?.toolUseId ?? null,
    tool_calls:
      calls.length === 0
        ? null
        : calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } })),
    created_at: micros(of.createdAt),
    parent_id: of.parentId ?? null,
    depth: of.depth,
    silent: of.silent,
    metadata: of.metadata,
    status: of.status,
    tool_status: result ? (result.isError ? "error" : "success") : null,
    attachments: (of.attachments ?? []).map((file) => ({ type: "file", ...file })),
  };
}

/** The body of a message that the contract describes. */
export function body({ role, content, name, silent, metadata, tool_calls, tool_call_id, parent_id, depth, status }) {
  let written = content ?? "";
  if (tool_calls?.length) {
    const uses = tool_calls.map((call) => {
      return { type: "tool_use", id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments || "{}") };
    });
    written = content ? [{ type: "text", text: content }, ...uses] : uses;
  } else if (tool_call_id) {
    written = [{ type: "tool_result", toolUseId: tool_call_id, content: content ?? "", isError: false }];
  }
  return given({ role, content: written, name, silent, metadata, parentId: parent_id, depth, status });
}

/** Content with another text. Calls and other parts stay; of a result, its content is replaced. */
export function withText(content, text) {
  const parts = typeof content === "string" ? [] : content;
  if (parts.every((part) => part.type === "text")) return text;
  const at = parts.findIndex((part) => part.type === "text" || part.type === "tool_result");
  const renewed = parts[at]?.type === "tool_result" ? { ...parts[at], content: text } : { type: "text", text };
  if (at < 0) return [renewed, ...parts];
  // Several texts are shown as one, so one takes their place.
  return parts.map((part, index) => (index === at ? renewed : part)).filter((part, index) => index === at || part.type !== "text");
}

/** A message that waits in the queue: it is pending. */
const queued = ({ queuedMessage, ...of }) => {
  return message({ silent: false, depth: 0, metadata: {}, ...queuedMessage, ...of, status: "pending" });
};

/** A file or a directory. One that is only implied by what is below it has no time of its own: the thread's is shown. */
const file = ({ hash, ...of }, threadCreatedAt) => ({
  ...of,
  mimeType: of.mimeType ?? (of.isDirectory ? "inode/directory" : "application/octet-stream"),
  storage: "thread",
  createdAt: micros(of.createdAt) ?? threadCreatedAt,
  updatedAt: micros(of.updatedAt) ?? threadCreatedAt,
  version: of.version ?? 0,
});

export const child = (of) => ({ ...of, createdAt: micros(of.createdAt) });

const NO_MESSAGE = ["message_not_found", "invalid_message_id"];
/** The most that one page of the queue has. */
const QUEUED_MAX = 1000;

/** Null where the host says that there is none. */
const orNull = (promise, ...codes) =>
  promise.catch((error) => {
    if (codes.includes(error.name)) return null;
    throw error;
  });

/** The state of a thread. `data` is what the host says of it; the work itself runs on the first one. */
export function makeState(data, work) {
  const thread = data.threadId;
  const call = (name, fields = {}, conditions = {}) => host.call(thread, name, given(fields), conditions);
  const files = (name, ...args) => host.files(thread, name, args);
  const recorded = (found) => file(found, micros(data.createdAt));
  const waiting = async () => (await call("queued", { limit: QUEUED_MAX })).items;
  const other = async (id) => makeState(await host.record(id), { context: {}, execution: null });

  const state = {
    threadId: thread,
    agentId: data.agentId,
    userId: data.userId,
    createdAt: micros(data.createdAt),
    children: data.children.map(child),
    terminated: micros(data.terminated),
    context: work.context,
    execution: work.execution,
    _notPackableRuntimeContext: work.runtimeContext,

    async getMessages({ limit = 100, offset = 0, order, includeSilent = false, maxDepth = 0 } = {}) {
      const isShown = (one) => (includeSilent || !one.silent) && one.depth <= maxDepth;
      const pending = (await waiting()).map(queued).filter(isShown);
      // Queued messages are the newest: a list that falls begins with them, one that rises ends with them.
      const falls = order !== "asc";
      const skipped = falls ? Math.min(offset, pending.length) : 0;
      const first = falls ? pending.reverse().slice(skipped, skipped + limit) : [];
      const left = limit - first.length;
      const asked = { limit: Math.max(left, 1), offset: offset - skipped, order: falls ? "desc" : "asc", includeSilent, maxDepth, total: true };
      const page = await call("messages", asked);
      const stored = page.items.slice(0, left).map(message);
      const last = falls ? [] : pending.slice(Math.max(0, offset - page.total)).slice(0, limit - stored.length);
      const messages = [...first, ...stored, ...last];
      // Without an order: the newest ones, the oldest of them first.
      if (order === undefined) messages.reverse();
      const total = page.total + pending.length;
      return { messages, total, hasMore: offset + messages.length < total };
    },
    getMessage: async (id) => {
      const found = await orNull(call("message", { message: id }), ...NO_MESSAGE);
      if (found) return message(found);
      const waits = (await waiting()).find((one) => one.id === id);
      return waits ? queued(waits) : null;
    },
    async injectMessage(input) {
      const [written] = await host.hook(thread, "before_create_message", [body(input)]);
      const made = await call("append", written);
      await host.hook(thread, "after_create_message", [made]);
      return message(made);
    },
    queueMessage: async (input) => {
      const [written] = await host.hook(thread, "before_create_message", [body({ role: "user", ...input })]);
      await host.hold(thread, "message", written);
    },
    async updateMessage(id, changes) {
      const [, { content, metadata }] = await host.hook(thread, "before_update_message", [id, given(changes)]);
      const text = content ?? undefined;
      const waits = (await waiting()).find((one) => one.id === id);
      const renewed = (old) => (text === undefined ? undefined : withText(old, text));
      if (waits) return queued(await call("edit-queued", { item: id, content: renewed(waits.queuedMessage.content), metadata }));
      const old = await call("message", { message: id });
      const edited = await call("edit", { message: id, content: renewed(old.content), metadata });
      await host.hook(thread, "after_update_message", [edited]);
      return message(edited);
    },
    async deleteMessage(id) {
      const removed = await orNull(call("remove-queued", { item: id }), ...NO_MESSAGE);
      return removed?.deleted || ((await orNull(call("delete-message", { message: id }), ...NO_MESSAGE))?.deleted ?? false);
    },

    loadModel: (name) => host.definition("models", name),
    loadPrompt: (name) => host.definition("prompts", name),
    loadAgent: (name) => host.definition("agents", name),
    getModelNames: () => [...data.names.models],
    getPromptNames: () => [...data.names.prompts],
    getAgentNames: () => [...data.names.agents],

    env: (name) => host.env(thread, name),
    envType: (name) => host.envType(thread, name),
    setEnv: async (name, value, { type } = {}) => {
      await host.call(thread, "set-env", given({ name, value, type }), {});
    },

    getChildThread: async (reference) => (data.children.some((of) => of.reference === reference) ? other(reference) : null),
    getParentThread: async () => {
      const parent = await call("parent");
      return parent && other(parent.id);
    },
    notifyParent: async (content) => {
      await call("notify-parent", { content });
    },
    setStatus: async (status) => {
      await call("status", { status });
    },

    queueTool: (name, args = {}) => later(host.hold(thread, "tool", { name, args })),
    invokeTool: (name, args = {}) => host.tool(thread, name, args),

    scheduleEffect: (name, args = {}, delay = 0) => host.hold(thread, "effect", { name, args, delay }),
    getScheduledEffects: (name) => host.effects(thread, name),
    removeScheduledEffect: (id) => host.removeEffect(thread, id),

    emit: (event, payload) => later(call("emit", { event, data: payload ?? null })),

    getValue: async (key) => (await call("value", { valueKey: key })).value,
    setValue: async (key, value) => {
      await call("set-value", { valueKey: key, value: value === undefined ? null : JSON.parse(JSON.stringify(value, strictly)) });
    },

    writeFile: async (path, bytes, mimeType, options = {}) => recorded(await files("write", path, bytes, mimeType, options)),
    readFile: (path) => orNull(files("read", path), "is_a_directory"),
    async readFileStream(path, { chunkSize = 1 << 20, signal } = {}) {
      const found = await files("stat", path);
      if (!found || found.isDirectory) return null;
      const totalChunks = Math.max(1, Math.ceil(found.size / chunkSize));
      return (async function* () {
        for (let index = 0; index < totalChunks && !signal?.aborted; index += 1) {
          const bytes = await files("read", path, index * chunkSize, Math.min(found.size, (index + 1) * chunkSize), found.version);
          yield { data: new Uint8Array(bytes), index, totalChunks, isLast: index === totalChunks - 1 };
        }
      })();
    },
    statFile: async (path) => {
      const found = await files("stat", path);
      return found && recorded(found);
    },
    readdirFile: async (path) => ({ entries: (await files("readdir", path)).map(recorded) }),
    unlinkFile: async (path) => {
      await files("unlink", path);
    },
    mkdirFile: async (path) => recorded(await files("mkdir", path)),
    rmdirFile: async (path) => {
      await files("rmdir", path);
    },
    getFileStats: () => files("stats"),
    grepFiles: (pattern) => files("grep", pattern),
    findFiles: async (pattern) => ({ paths: await files("find", pattern) }),
    getFileThumbnail: (path) => orNull(files("thumbnail", path), "is_a_directory"),

    runCode(source, options = {}) {
      const id = `${thread}/${(runs += 1)}`;
      const outcome = host.runCode(thread, id, source, options);
      const run = { running: true, reports: [] };
      const ended = outcome.then((told) => {
        Object.assign(run, { running: false, reports: told.reports });
        return told;
      });
      run.then = ended.then.bind(ended);
      run.terminate = () => later(host.runCode(thread, id));
      return run;
    },

    terminate: async () => {
      await call("terminate");
    },
  };
  for (const name of ["threadId", "agentId", "userId", "createdAt", "children", "terminated"]) {
    Object.defineProperty(state, name, { writable: false });
  }
  return state;
}

/** JSON drops what it cannot write; a value of a thread must not lose anything in silence. */
function strictly(key, value) {
  const lost = typeof value === "function" || typeof value === "symbol" || (typeof value === "number" && !Number.isFinite(value));
  if (lost) throw new TypeError(`${key === "" ? "the value" : key} is no JSON`);
  return value;
}
