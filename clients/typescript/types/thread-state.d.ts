/**
 * The `ThreadState` interface of Standard Agents, declared by Threadkeep.
 *
 * Code that is written against it runs unchanged in a tool on the server and, through `await keep.state(id)`, in a program
 * of your own. Times are microseconds since 1970.
 */

/** A thread: its messages, files, values, variables, subagents, tools and effects. */
export interface ThreadState {
  readonly threadId: string;
  /** The name of its agent; empty if it has none. */
  readonly agentId: string;
  readonly userId: string | null;
  readonly createdAt: number;
  /** The subagents that work for it. */
  readonly children: SubagentRegistryEntry[];
  /** When it was terminated; null while it is active. */
  readonly terminated: number | null;

  getMessages(options?: GetMessagesOptions): Promise<MessagesResult>;
  /** Null if there is none. */
  getMessage(messageId: string): Promise<Message | null>;
  /** Stores a message at once, and starts no run. */
  injectMessage(input: InjectMessageInput): Promise<Message>;
  /** Queues a message for the next step of a run. It keeps its id when it is delivered. */
  queueMessage(input: QueueMessageInput): Promise<void>;
  /** Rejects for an unknown id. */
  updateMessage(messageId: string, updates: MessageUpdates): Promise<Message>;
  /** False if there is none. A queued message is cancelled. */
  deleteMessage(messageId: string): Promise<boolean>;

  loadModel<T = unknown>(name: string): Promise<T>;
  loadPrompt<T = unknown>(name: string): Promise<T>;
  loadAgent<T = unknown>(name: string): Promise<T>;
  /** The thread of a subagent, by its `reference`. */
  getChildThread(referenceId: string): Promise<ThreadState | null>;
  /** The thread that this one works for. */
  getParentThread(): Promise<ThreadState | null>;
  getPromptNames(): string[];
  getAgentNames(): string[];
  getModelNames(): string[];
  /** Rejects if no layer has the variable. An empty text is a value. */
  env(propertyName: string): Promise<string>;
  /** `secret` for unknown variables, and for those that are not set on a thread. */
  envType(propertyName: string): Promise<'text' | 'secret'>;
  /** Without a type, a variable keeps its own; a new one is a secret. */
  setEnv(propertyName: string, value: string, options?: { type?: 'text' | 'secret' }): Promise<void>;
  /** Queues a silent message for the parent. Does nothing without one. */
  notifyParent(content: string): Promise<void>;
  /** Sets the status that the parent sees. Does nothing without one. */
  setStatus(status: string): Promise<void>;

  queueTool(toolName: string, args: Record<string, unknown>): void;
  invokeTool(toolName: string, args: Record<string, unknown>): Promise<ToolResult>;

  /** Schedules an effect after `delay` milliseconds, and gives its id. */
  scheduleEffect(name: string, args: Record<string, unknown>, delay?: number): Promise<string>;
  /** The effects that wait. */
  getScheduledEffects(name?: string): Promise<ScheduledEffect[]>;
  /** False if no such effect waits. */
  removeScheduledEffect(id: string): Promise<boolean>;

  /** Sends an event to the clients that follow the thread. */
  emit(event: string, data: unknown): void;

  /** A scratch pad that nobody else sees. */
  context: Record<string, unknown>;

  /** Null for a missing key. */
  getValue<T = unknown>(key: string): Promise<T | null>;
  /** Any JSON; null and undefined delete the key. */
  setValue(key: string, value: unknown): Promise<void>;

  writeFile(path: string, data: ArrayBuffer | string, mimeType: string, options?: WriteFileOptions): Promise<FileRecord>;
  readFile(path: string): Promise<ArrayBuffer | null>;
  readFileStream(path: string, options?: ReadFileStreamOptions): Promise<AsyncIterable<FileChunk> | null>;
  statFile(path: string): Promise<FileRecord | null>;
  readdirFile(path: string): Promise<ReaddirResult>;
  /** Deletes a file; a missing one is no error. */
  unlinkFile(path: string): Promise<void>;
  mkdirFile(path: string): Promise<FileRecord>;
  /** Removes an empty directory; rejects with `directory_not_empty` otherwise. */
  rmdirFile(path: string): Promise<void>;
  getFileStats(): Promise<FileStats>;
  /** Lines that match a regular expression. */
  grepFiles(pattern: string): Promise<GrepResult[]>;
  /** Files whose paths match a glob: `*` stays within a directory, `**` crosses. */
  findFiles(pattern: string): Promise<FindResult>;
  /** A small picture of an image; null for other files. */
  getFileThumbnail(path: string): Promise<ArrayBuffer | null>;

  runCode(source: string, options?: CodeExecutionOptions): CodeExecution;

  /** The run of an agent that is open; null at rest. */
  execution: ExecutionState | null;
  /** Ends the work on the thread for good. */
  terminate(): Promise<void>;

  readonly _notPackableRuntimeContext?: Record<string, unknown>;
}

/** A subagent, as its parent knows it. */
export interface SubagentRegistryEntry {
  /** The id of its thread. */
  reference: string;
  name: string;
  title?: string;
  description: string;
  resumable?: boolean;
  blocking?: boolean;
  threadName?: string;
  /** Shared by the subagents that one message started. */
  spawnGroupId?: string;
  createdAt?: number;
  status: string;
  parentCommunication?: 'implicit' | 'explicit';
}

export interface GetMessagesOptions {
  /** 100 unless given. */
  limit?: number;
  offset?: number;
  /** Without it: the newest `limit` messages, the oldest of them first. */
  order?: 'asc' | 'desc';
  /** False unless given. */
  includeSilent?: boolean;
  /** 0, the conversation itself, unless given. */
  maxDepth?: number;
}

export interface MessagesResult {
  messages: Message[];
  /** Number of messages that the options select, without limit and offset. */
  total: number;
  hasMore: boolean;
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: {
    name: string;
    /** A JSON text. */
    arguments: string;
  };
}

/** A file that belongs to a message. */
export interface Attachment {
  id: string;
  type: 'file';
  path: string;
  name: string;
  mimeType: string;
  size: number;
  width?: number;
  height?: number;
  description?: string;
}

/** A file of the thread to attach: its path is enough. */
export type AttachmentInput = Partial<Attachment> & { path: string };

export interface Message {
  id: string;
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  name: string | null;
  tool_call_id: string | null;
  tool_calls: ToolCall[] | null;
  created_at: number;
  parent_id: string | null;
  depth: number;
  /** Hidden from lists, still sent to the model. */
  silent: boolean;
  metadata: Record<string, unknown>;
  /** `pending` while it is queued or streaming. */
  status: 'pending' | 'completed' | 'failed';
  tool_status: 'success' | 'error' | null;
  attachments: Attachment[];
}

export interface InjectMessageInput {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content?: string | null;
  name?: string | null;
  tool_call_id?: string | null;
  tool_calls?: ToolCall[] | null;
  tool_status?: 'success' | 'error' | null;
  parent_id?: string | null;
  depth?: number;
  silent?: boolean;
  metadata?: Record<string, unknown>;
  status?: 'pending' | 'completed' | 'failed';
  attachments?: AttachmentInput[];
}

export interface QueueMessageInput {
  /** `user` unless given. */
  role?: 'user' | 'assistant';
  content: string;
  silent?: boolean;
  metadata?: Record<string, unknown>;
  attachments?: AttachmentInput[];
}

export interface MessageUpdates {
  content?: string | null;
  /** Fields to set; the others stay. */
  metadata?: Record<string, unknown>;
}

export interface ToolResult {
  status: 'success' | 'error';
  result?: string;
  error?: string;
  attachments?: unknown[];
}

/** An effect that waits. */
export interface ScheduledEffect {
  id: string;
  name: string;
  args: Record<string, unknown>;
  scheduledAt: number;
  createdAt: number;
}

export interface WriteFileOptions {
  metadata?: Record<string, unknown>;
  width?: number;
  height?: number;
  /** A small picture of it. */
  thumbnail?: ArrayBuffer;
}

export interface FileRecord {
  path: string;
  name: string;
  mimeType: string;
  storage: string;
  size: number;
  isDirectory: boolean;
  metadata?: Record<string, unknown>;
  width?: number;
  height?: number;
  createdAt: number;
  updatedAt: number;
  version: number;
}

export interface ReadFileStreamOptions {
  /** Ends the iteration. */
  signal?: AbortSignal;
  /** Bytes of a chunk: 1 MiB unless given. */
  chunkSize?: number;
}

export interface FileChunk {
  data: Uint8Array;
  index: number;
  totalChunks: number;
  isLast: boolean;
}

export interface ReaddirResult {
  /** Directories first, then by name. */
  entries: FileRecord[];
}

export interface FileStats {
  fileCount: number;
  directoryCount: number;
  totalSize: number;
}

export interface GrepResult {
  path: string;
  matches: { line: number; column: number; text: string }[];
}

export interface FindResult {
  paths: string[];
}

export interface CodeExecutionOptions {
  /** The export to call, `default` unless given, and its arguments. */
  execute?: { fn?: string; args?: unknown[] };
  /** Modules of values: bare specifiers, each with its exports. */
  imports?: Record<string, Record<string, unknown>>;
  globals?: Record<string, unknown>;
  /** Sources of other modules, by relative specifiers. */
  modules?: Record<string, string>;
  language?: 'typescript' | 'javascript';
  memoryLimitBytes?: number;
  /** 30,000 unless given. */
  timeoutMs?: number;
  filename?: string;
  /** Called with each value that the code reports. */
  report?: (value: unknown) => void;
}

export interface CodeExecutionResult {
  status: 'success' | 'error' | 'link_error' | 'memory' | 'terminated';
  result?: unknown;
  reports: unknown[];
  logs: { level: string; message: string }[];
  durationMs: number;
  error?: { name: string; message: string; stack?: string; line?: number; column?: number; filename?: string };
}

/** Code that runs. `await` gives its result; it never rejects. */
export interface CodeExecution extends PromiseLike<CodeExecutionResult> {
  readonly running: boolean;
  /** The values that the code has reported so far. */
  readonly reports: unknown[];
  /** Ends it. The result is there at once. */
  terminate(reason?: string): void;
}

/** A run that is open. */
export interface ExecutionState {
  readonly flowId: string;
  readonly currentSide: 'a' | 'b';
  readonly stepCount: number;
  readonly sideAStepCount: number;
  readonly sideBStepCount: number;
  readonly stopped: boolean;
  readonly stoppedBy?: 'a' | 'b';
  readonly messageHistory: Message[];
  /** Aborts when the run ends or is asked to. */
  readonly abortSignal: AbortSignal;
  /** The prompts that led here, the outermost first. */
  readonly promptPath: string[];
  forceTurn(side: 'a' | 'b'): void;
  stop(): void;
}
