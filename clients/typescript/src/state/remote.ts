// ThreadState over a server. Some of its members are not asynchronous: they read a snapshot, or are carried out later.

import type * as state from "../../types/thread-state.js";
import { Refused, ThreadkeepError } from "../errors.js";
import type { Threadkeep } from "../index.js";
import type * as t from "../printed/types.js";
import { rooted, type Way } from "../way.js";
import { RemoteCode } from "./code.js";
import { RemoteExecution } from "./execution.js";
import { body, child, file, given, message, micros, queued, strictly, withText } from "./shapes.js";

/** How a state is opened. */
export interface StateOptions {
  /** Follows the thread, and keeps what is not asynchronous up to date until `close()`. */
  live?: boolean;
}

/** What is read without waiting. */
interface Snapshot {
  thread: t.Thread;
  children: state.SubagentRegistryEntry[];
  names: Record<"models" | "prompts" | "agents", string[]>;
  execution: RemoteExecution | null;
}

const CHUNK_BYTES = 1 << 20;
const HISTORY_MESSAGES_MAX = 1_000;
const PAGE_MAX = 1_000;
const QUEUE_READS_MAX = 5;

/**
 * The `ThreadState` of a thread on a server: `await keep.state(id)`.
 *
 * `children`, `terminated`, `execution` and the lists of names are as they were when the state was opened or refreshed, or,
 * with `live`, as they are. `emit`, `queueTool` and `execution.stop` are sent in order, before any later call;
 * `await state.settled()` waits for them and throws what failed.
 */
export class RemoteThreadState implements state.ThreadState {
  context: Record<string, unknown> = {};
  readonly _notPackableRuntimeContext?: Record<string, unknown>;
  private snapshot!: Snapshot;
  private sent: Promise<unknown> = Promise.resolve();
  private failures: unknown[] = [];
  private aborts: { run: string; controller: AbortController } | undefined;
  private readonly closing = new AbortController();

  private constructor(
    private readonly keep: Threadkeep,
    private readonly way: Way,
    private readonly name: string,
  ) {}

  /** Loads the state of a thread. */
  static async open(keep: Threadkeep, way: Way, thread: string, options: StateOptions = {}): Promise<RemoteThreadState> {
    const opened = new RemoteThreadState(keep, way, thread);
    await opened.refresh();
    if (options.live) void opened.follow();
    return opened;
  }

  get threadId(): string {
    return this.snapshot.thread.id;
  }
  get agentId(): string {
    return this.snapshot.thread.agentId ?? "";
  }
  get userId(): string | null {
    return this.snapshot.thread.userId ?? null;
  }
  get createdAt(): number {
    return micros(this.snapshot.thread.created);
  }
  get terminated(): number | null {
    const { terminated } = this.snapshot.thread;
    return terminated === null ? null : micros(terminated);
  }
  get children(): state.SubagentRegistryEntry[] {
    return this.snapshot.children.map((one) => ({ ...one }));
  }
  get execution(): state.ExecutionState | null {
    return this.snapshot.execution;
  }

  /** Loads what is read without waiting anew. */
  async refresh(): Promise<void> {
    const thread = await this.ask((threads, id) => threads.get(id));
    const [children, definitions] = await Promise.all([this.keep.threads.listSubagents(this.name).all(), this.keep.definitions.list()]);
    const named = (kind: string) => definitions.items.filter((one) => one.kind === kind).map((one) => one.name);
    const names = { models: named("models"), prompts: named("prompts"), agents: named("agents") };
    this.snapshot = { thread, names, children: children.map(child), execution: await this.running() };
  }

  /** Waits until what was begun without waiting is done, and throws what failed. */
  async settled(): Promise<void> {
    for (let sent; sent !== this.sent; ) await (sent = this.sent);
    const failures = this.failures.splice(0);
    if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join("; "));
    if (failures.length > 0) throw failures[0];
  }

  /** Stops following a live thread. */
  close(): void {
    this.closing.abort();
  }

  async getMessages(options: state.GetMessagesOptions = {}): Promise<state.MessagesResult> {
    const { limit = 100, offset = 0, order, includeSilent = false, maxDepth = 0 } = options;
    for (const [name, value] of Object.entries({ limit, offset })) {
      if (!Number.isSafeInteger(value) || value < 0) throw new ThreadkeepError(`${name}: is no number from 0 on`, "invalid_parameter");
    }
    const isShown = (one: state.Message) => (includeSilent || !one.silent) && one.depth <= maxDepth;
    for (let reads = 1; ; reads++) {
      const waiting = await this.queue();
      // Queued messages are the newest: a list that falls begins with them, one that rises ends with them.
      const pending = waiting.map(queued).filter(isShown);
      const skipped = order === "asc" ? 0 : Math.min(offset, pending.length);
      const first = order === "asc" ? [] : pending.reverse().slice(skipped, skipped + limit);
      const left = limit - first.length;
      const params = { limit: Math.min(Math.max(left, 1), PAGE_MAX), offset: offset - skipped, total: true, includeSilent, maxDepth };
      const list = await this.ask((threads, id) => Promise.resolve(threads.listMessages(id, { ...params, order: order ?? "desc" })));
      const page = await list.page();
      const items = [...page.items];
      for (let next = page.nextCursor; next !== null && items.length < left; ) {
        const more = await list.page(next);
        items.push(...more.items);
        next = more.nextCursor;
      }
      // A message that was delivered meanwhile would be counted twice.
      const isSame = waiting.length === 0 || reads === QUEUE_READS_MAX || ids(waiting) === ids(await this.queue());
      if (!isSame) continue;
      const stored = items.slice(0, left).map(message);
      const total = (page.total ?? 0) + pending.length;
      const last = order === "asc" ? pending.slice(Math.max(0, offset - (page.total ?? 0))).slice(0, limit - stored.length) : [];
      const messages = [...first, ...stored, ...last];
      if (order === undefined) messages.reverse();
      return { messages, total, hasMore: offset + messages.length < total };
    }
  }

  async getMessage(messageId: string): Promise<state.Message | null> {
    const found = await orNull(this.ask((threads, id) => threads.getMessage(id, messageId)), ...NO_MESSAGE);
    if (found) return message(found);
    const waits = (await this.queue()).find((one) => one.id === messageId);
    return waits ? queued(waits) : null;
  }

  async injectMessage(input: state.InjectMessageInput): Promise<state.Message> {
    const attachments = await this.attached(input.attachments);
    const appended = await this.ask((threads, id) => threads.appendMessages(id, { ...body(input), ...attachments }));
    return message(appended as t.Message);
  }

  async queueMessage(input: state.QueueMessageInput): Promise<void> {
    const attachments = await this.attached(input.attachments);
    await this.ask((threads, id) => threads.queueMessage(id, { ...body({ role: "user", ...input }), ...attachments }));
  }

  async updateMessage(messageId: string, updates: state.MessageUpdates): Promise<state.Message> {
    const { metadata } = updates;
    const changes = (old: t.Content): t.EditMessage => {
      const content = updates.content == null ? undefined : withText(old, updates.content);
      return given({ content, metadata }) as t.EditMessage;
    };
    const waits = (await this.queue()).find((one) => one.id === messageId);
    if (waits) {
      const edited = await orNull(
        this.ask((threads, id) => threads.editQueued(id, messageId, changes(waits.queuedMessage.content))),
        "queued_not_found",
      );
      if (edited) return queued(edited);
    }
    const old = await this.ask((threads, id) => threads.getMessage(id, messageId));
    return message(await this.ask((threads, id) => threads.editMessage(id, messageId, changes(old.content))));
  }

  async deleteMessage(messageId: string): Promise<boolean> {
    const removed = await orNull(this.ask((threads, id) => threads.removeQueued(id, messageId)), ...NO_MESSAGE);
    if (removed?.deleted) return true;
    const deleted = await orNull(this.ask((threads, id) => threads.deleteMessage(id, messageId)), ...NO_MESSAGE);
    return deleted?.deleted ?? false;
  }

  loadModel<T = unknown>(name: string): Promise<T> {
    return this.definition<T>("models", name);
  }
  loadPrompt<T = unknown>(name: string): Promise<T> {
    return this.definition<T>("prompts", name);
  }
  loadAgent<T = unknown>(name: string): Promise<T> {
    return this.definition<T>("agents", name);
  }
  getModelNames(): string[] {
    return [...this.snapshot.names.models];
  }
  getPromptNames(): string[] {
    return [...this.snapshot.names.prompts];
  }
  getAgentNames(): string[] {
    return [...this.snapshot.names.agents];
  }

  async getChildThread(referenceId: string): Promise<RemoteThreadState | null> {
    const children = await this.ask((threads, id) => threads.listSubagents(id).all());
    const found = children.some((one) => one.reference === referenceId);
    return found ? orNull(RemoteThreadState.open(this.keep, this.way, referenceId), "thread_not_found") : null;
  }

  async getParentThread(): Promise<RemoteThreadState | null> {
    const parent = await this.ask((threads, id) => threads.getParent(id));
    return parent ? RemoteThreadState.open(this.keep, this.way, parent.id) : null;
  }

  async env(propertyName: string): Promise<string> {
    const variable = await this.ask((threads, id) => threads.getEnv(id, propertyName));
    return variable.value ?? "";
  }

  async envType(propertyName: string): Promise<"text" | "secret"> {
    const { items } = await this.ask((threads, id) => threads.listEnv(id));
    return items.find((one) => one.name === propertyName)?.type ?? "secret";
  }

  async setEnv(propertyName: string, value: string, options: { type?: "text" | "secret" } = {}): Promise<void> {
    await this.ask((threads, id) => threads.setEnv(id, propertyName, given({ value, type: options.type })));
  }

  async notifyParent(content: string): Promise<void> {
    await this.ask((threads, id) => threads.notifyParent(id, { content }));
  }

  async setStatus(status: string): Promise<void> {
    await this.ask((threads, id) => threads.setStatus(id, { status }));
  }

  queueTool(toolName: string, args: Record<string, unknown> = {}): void {
    this.later(() => this.keep.threads.queueTool(this.threadId, toolName, { args: json(args) }));
  }

  async invokeTool(toolName: string, args: Record<string, unknown> = {}): Promise<state.ToolResult> {
    const told = await this.ask((threads, id) => threads.invokeTool(id, toolName, { args: json(args) }));
    const { status, result, error, attachments } = told;
    const text = result === undefined || typeof result === "string" ? result : JSON.stringify(result);
    return given({ status, result: text, error, attachments }) as state.ToolResult;
  }

  async scheduleEffect(name: string, args: Record<string, unknown> = {}, delay = 0): Promise<string> {
    return (await this.ask((threads, id) => threads.scheduleEffect(id, { name, args: json(args), delay }))).id;
  }

  async getScheduledEffects(name?: string): Promise<state.ScheduledEffect[]> {
    const effects = await this.ask((threads, id) => threads.listEffects(id, given({ name })).all());
    const waiting = effects.filter((one) => one.state === "pending");
    return waiting.map(({ id, name, args, scheduledAt, createdAt }) => {
      return { id, name, args: args as Record<string, unknown>, scheduledAt: micros(scheduledAt), createdAt: micros(createdAt) };
    });
  }

  async removeScheduledEffect(id: string): Promise<boolean> {
    const removed = await orNull(this.ask((threads, thread) => threads.removeEffect(thread, id)), "effect_not_found", "invalid_parameter");
    return removed?.deleted ?? false;
  }

  emit(event: string, data: unknown): void {
    this.later(() => this.keep.threads.emitEvent(this.threadId, { event, data: json(data ?? null) as t.Json }));
  }

  async getValue<T = unknown>(key: string): Promise<T | null> {
    return (await this.ask((threads, id) => threads.getValue(id, key))).value as T | null;
  }

  async setValue(key: string, value: unknown): Promise<void> {
    const checked = json(value ?? null) as t.Json;
    await this.ask((threads, id) => threads.setValue(id, key, checked));
  }

  async writeFile(path: string, data: ArrayBuffer | string, mimeType: string, options: state.WriteFileOptions = {}): Promise<state.FileRecord> {
    const { thumbnail, ...rest } = options;
    const content = typeof data === "string" ? data : new Uint8Array(data);
    const described = { ...rest, mimeType, ...(thumbnail ? { thumbnail: new Uint8Array(thumbnail) } : {}) };
    return this.file(await this.ask(({ files }, id) => files.write(id, path, content, described)));
  }

  async readFile(path: string): Promise<ArrayBuffer | null> {
    if (isRoot(path)) return null;
    const found = await orNull(this.ask(({ files }, id) => files.open(id, path)), ...NO_FILE);
    return found ? found.arrayBuffer() : null;
  }

  async readFileStream(path: string, options: state.ReadFileStreamOptions = {}): Promise<AsyncIterable<state.FileChunk> | null> {
    const { chunkSize = CHUNK_BYTES, signal } = options;
    const found = await this.statFile(path);
    if (found === null || found.isDirectory) return null;
    const totalChunks = Math.max(1, Math.ceil(found.size / chunkSize));
    const read = async (index: number): Promise<Uint8Array> => {
      if (found.size === 0) return new Uint8Array(0);
      const range = `bytes=${index * chunkSize}-${Math.min(found.size, (index + 1) * chunkSize) - 1}`;
      const at = { version: found.version, range };
      const part = await this.ask(({ files }, id) => files.open(id, path, at, signal ? { signal } : {}));
      return new Uint8Array(await part.arrayBuffer());
    };
    return (async function* () {
      for (let index = 0; index < totalChunks; index += 1) {
        if (signal?.aborted) return;
        let data: Uint8Array;
        try {
          data = await read(index);
        } catch (error) {
          if (signal?.aborted) return;
          throw error;
        }
        yield { data, index, totalChunks, isLast: index === totalChunks - 1 };
      }
    })();
  }

  async statFile(path: string): Promise<state.FileRecord | null> {
    if (isRoot(path)) return this.file(ROOT);
    const found = await orNull(this.ask(({ files }, id) => files.stat(id, path)), ...NO_FILE);
    return found && this.file(found);
  }

  async readdirFile(path: string): Promise<state.ReaddirResult> {
    const found = await orNull(this.ask(({ files }, id) => files.readdir(id, path)), ...NO_FILE);
    return { entries: (found ?? []).map((one) => this.file(one)) };
  }

  async unlinkFile(path: string): Promise<void> {
    await this.ask(({ files }, id) => files.delete(id, path));
  }

  async mkdirFile(path: string): Promise<state.FileRecord> {
    if (isRoot(path)) return this.file(ROOT);
    return this.file(await this.ask(({ files }, id) => files.mkdir(id, path)));
  }

  async rmdirFile(path: string): Promise<void> {
    await this.ask(({ files }, id) => files.rmdir(id, path));
  }

  async getFileStats(): Promise<state.FileStats> {
    const { fileCount, directoryCount, totalSize } = await this.ask(({ files }, id) => files.stats(id));
    return { fileCount, directoryCount, totalSize };
  }

  async grepFiles(pattern: string): Promise<state.GrepResult[]> {
    return (await this.ask(({ files }, id) => files.grep(id, pattern, { regex: true }))).files;
  }

  async findFiles(pattern: string): Promise<state.FindResult> {
    return { paths: await this.ask(({ files }, id) => files.find(id, pattern)) };
  }

  async getFileThumbnail(path: string): Promise<ArrayBuffer | null> {
    if (isRoot(path)) return null;
    const picture = await orNull(this.ask(({ files }, id) => files.thumbnail(id, path)), ...NO_FILE, "no_thumbnail");
    return picture && (picture.buffer as ArrayBuffer);
  }

  runCode(source: string, options: state.CodeExecutionOptions = {}): state.CodeExecution {
    return new RemoteCode(this.way, this.threadId, source, options, this.sent);
  }

  async terminate(): Promise<void> {
    await this.ask((threads, id) => threads.terminate(id));
    await this.refresh();
  }

  /** Asks the server, after what was begun before. */
  private async ask<T>(what: (threads: Threadkeep["threads"], thread: string) => Promise<T>): Promise<T> {
    await this.sent;
    return what(this.keep.threads, this.name);
  }

  /** Carries something out after what was begun before. `settled` says whether it failed. */
  private later(what: () => Promise<unknown>): void {
    this.sent = this.sent.then(what).catch((error: unknown) => this.failures.push(error));
  }

  private queue(): Promise<t.Queued[]> {
    return this.ask((threads, id) => threads.listQueue(id).all());
  }

  private file(of: t.FileRecord): state.FileRecord {
    return file(of, this.createdAt);
  }

  private async definition<T>(kind: string, name: string): Promise<T> {
    await this.sent;
    const found = await this.keep.definitions.get(kind, name);
    return { ...(found.definition as object), name: found.name } as T;
  }

  /** Attachments as the server takes them. A path is enough: the rest is looked up. */
  private async attached(inputs: state.AttachmentInput[] | undefined): Promise<{ attachments?: t.Attachment[] }> {
    if (!inputs?.length) return {};
    const look = async ({ path, id, name, mimeType, size }: state.AttachmentInput): Promise<t.Attachment> => {
      const found = await this.ask(({ files }, thread) => files.stat(thread, path));
      return { id: id ?? found.hash ?? "", name: name ?? found.name, mimeType: mimeType ?? found.mimeType ?? "", size: size ?? found.size, path };
    };
    return { attachments: await Promise.all(inputs.map(look)) };
  }

  private async running(): Promise<RemoteExecution | null> {
    const run = await this.ask((threads, id) => threads.getExecution(id));
    if (this.aborts && this.aborts.run !== run?.flowId) {
      this.aborts.controller.abort();
      this.aborts = undefined;
    }
    if (!run) return null;
    this.aborts ??= { run: run.flowId, controller: new AbortController() };
    const { messages } = await this.getMessages({ limit: HISTORY_MESSAGES_MAX, includeSilent: true });
    return new RemoteExecution(run, messages, this.aborts.controller, {
      stop: (id) => this.later(() => this.keep.runs.stop(id)),
      forceTurn: (id, side) => this.later(() => this.keep.runs.forceTurn(id, { side })),
    });
  }

  private async follow(): Promise<void> {
    const { signal } = this.closing;
    try {
      for await (const entry of this.keep.threads.follow(this.threadId, { after: this.snapshot.thread.v, signal })) {
        // A snapshot has everything up to its version, so a burst of entries is one more snapshot.
        if (entry.version > this.snapshot.thread.v) await this.refresh();
      }
    } catch (error) {
      if (!signal.aborted) this.failures.push(error);
    }
  }
}

const NO_MESSAGE = ["message_not_found", "invalid_message_id"];
const ROOT = { path: "/", name: "", isDirectory: true, size: 0 };
const NO_FILE = ["file_not_found", "is_a_directory"];

/** The root is there always, and has no address of its own. */
const isRoot = (path: string) => rooted(path) === "/";

const ids = (waiting: t.Queued[]) => waiting.map((one) => one.id).join();

/** What the server gets, checked: nothing is dropped in silence. */
function json<T>(value: T): T {
  return JSON.parse(strictly(value)) as T;
}

/** The answer, or null if the server says that there is none. */
async function orNull<T>(answer: Promise<T>, ...codes: string[]): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Refused && codes.includes(error.code)) return null;
    throw error;
  }
}
