// What the server says, as ThreadState shows it: times in microseconds, one text for a message, its calls beside it.

import type * as state from "../../types/thread-state.js";
import { ThreadkeepError } from "../errors.js";
import type * as t from "../printed/types.js";

/** Microseconds since 1970 of a time such as 2027-01-31T12:00:00.123456Z. */
export function micros(time: string): number {
  const [, seconds, fraction] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return Date.parse(`${seconds}Z`) * 1_000 + Number((fraction ?? "").padEnd(6, "0").slice(0, 6));
}

/** The fields that have a value. */
export function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as T;
}

type Part = Exclude<t.Content, string>[number];
type PartOf<Type> = Extract<Part, { type: Type }>;

function partsOf(content: t.Content): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

const isOf =
  <Type extends Part["type"]>(type: Type) =>
  (part: Part): part is PartOf<Type> =>
    part.type === type;

/** A message. */
export function message(of: t.Message): state.Message {
  const parts = partsOf(of.content);
  const texts = parts.filter(isOf("text")).map((part) => part.text);
  const result = parts.find(isOf("tool_result"));
  const calls = parts.filter(isOf("tool_use"));
  const said = result ? (typeof result.content === "string" ? result.content : JSON.stringify(result.content)) : texts.join("\n");
  return {
    id: of.id,
    role: of.role === "info" ? "system" : of.role,
    content: texts.length === 0 && !result ? null : said,
    name: of.name ?? null,
    tool_call_id: result?.toolUseId ?? null,
    tool_calls: calls.length === 0 ? null : calls.map(call),
    created_at: micros(of.createdAt),
    parent_id: of.parentId ?? null,
    depth: of.depth,
    silent: of.silent,
    metadata: of.metadata,
    status: of.status,
    tool_status: result ? (result.isError ? "error" : "success") : null,
    attachments: (of.attachments ?? []).map((file) => ({ type: "file", ...file, path: file.path ?? "" })),
  };
}

function call({ id, name, input }: PartOf<"tool_use">): state.ToolCall {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

/** A message that waits in the queue: it is pending. */
export function queued({ id, number, queuedMessage, actor, createdAt }: t.Queued): state.Message {
  const defaults = { silent: false, depth: 0, metadata: {} };
  return message({ ...defaults, ...given(queuedMessage), id, number, actor, createdAt, version: 0, status: "pending" } as t.Message);
}

/** The body of a message that ThreadState describes, without its attachments. */
export function body(input: state.InjectMessageInput): t.NewMessage {
  const { role, content, name, tool_call_id, tool_calls, tool_status, parent_id, depth, silent, metadata, status } = input;
  let written: t.Content = content ?? "";
  if (tool_calls?.length) {
    const uses = tool_calls.map(({ id, function: { name, arguments: text } }): Part => ({ type: "tool_use", id, name, input: argumentsIn(text) }));
    written = content ? [{ type: "text", text: content }, ...uses] : uses;
  } else if (tool_call_id) {
    written = [{ type: "tool_result", toolUseId: tool_call_id, content: content ?? "", isError: tool_status === "error" }];
  }
  return given({ role, content: written, name, silent, metadata, parentId: parent_id, depth, status }) as t.NewMessage;
}

function argumentsIn(text: string): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch (cause) {
    throw new ThreadkeepError("the arguments of a tool call are no JSON", "invalid_body", { cause });
  }
}

/** Content with another text. Calls and other parts stay; of a result, its content is replaced. */
export function withText(content: t.Content, text: string): t.Content {
  const parts = partsOf(content);
  if (parts.every(isOf("text"))) return text;
  const at = parts.findIndex((part) => part.type === "text" || part.type === "tool_result");
  const old = parts[at];
  const renewed: Part = old?.type === "tool_result" ? { ...old, content: text } : { type: "text", text };
  if (old === undefined) return [renewed, ...parts];
  // Several texts are shown as one, so one takes their place.
  return parts.map((part, index) => (index === at ? renewed : part)).filter((part, index) => index === at || part.type !== "text");
}

/** A file or a directory. One that is only implied by what is below it has no time of its own: the thread's is shown. */
export function file(of: t.FileRecord, threadCreatedAt: number): state.FileRecord {
  const { path, name, size, isDirectory, metadata, width, height } = of;
  return given({
    path,
    name,
    mimeType: of.mimeType ?? (isDirectory ? "inode/directory" : "application/octet-stream"),
    storage: "thread",
    size,
    isDirectory,
    metadata,
    width,
    height,
    createdAt: of.createdAt ? micros(of.createdAt) : threadCreatedAt,
    updatedAt: of.updatedAt ? micros(of.updatedAt) : threadCreatedAt,
    version: of.version ?? 0,
  }) as state.FileRecord;
}

/** A subagent. */
export function child(of: t.Child): state.SubagentRegistryEntry {
  return given({ ...of, createdAt: micros(of.createdAt) }) as state.SubagentRegistryEntry;
}

/** JSON text of a value. What JSON would drop in silence is refused. */
export function strictly(value: unknown): string {
  const check = (key: string, one: unknown): unknown => {
    const isLost = typeof one === "function" || typeof one === "symbol" || (typeof one === "number" && !Number.isFinite(one));
    const isEmptied = one instanceof Map || one instanceof Set || one instanceof ArrayBuffer || ArrayBuffer.isView(one);
    if (isLost || isEmptied) throw new TypeError(`${key === "" ? "the value" : `'${key}'`} is no JSON`);
    return one;
  };
  try {
    return JSON.stringify(value, check);
  } catch (cause) {
    throw new ThreadkeepError((cause as Error).message, "invalid_body", { cause });
  }
}
