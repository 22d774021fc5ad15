// Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print

/** An account, by its name. */
export type Account = string;

/** Takes up an injection by hand. */
export type Acknowledge = Record<string, never>;

/** An actor: a person, an agent or Threadkeep itself. */
export type Actor = {
  /** Human, agent or system. */
  type: ActorKind;
  /** The actor's name within its account. */
  name: string;
};

/** The types of actors. */
export type ActorKind = "human" | "agent" | "system";

/** Remembers a text in the account. */
export type AddMemory = {
  /** What to remember: at most 8 KiB. A text that is there already gets the new sources. */
  text: string;
  /** The messages that it was taken from, at most 64, all shown by one thread of the account. */
  sources?: MessageName[];
  /** The thread that shows the sources [default: the thread that wrote the first of them]. */
  threadId?: ThreadName | null;
};

/** Lets this store run effects that came along with a backup, a copy or an import. */
export type AdoptEffects = {
  /** Only effects of this thread. Default: of all threads, of all accounts. */
  threadId?: ThreadName | null;
};

/** The result of an adoption. */
export type Adopted = {
  /** The number of effects that were adopted. */
  adopted: number;
};

/** Approves a request. */
export type Answer = {
  /** The reason, for people to read. */
  reason?: string | null;
};

/** The two shapes of the answer. */
export type Appended = Message | AppendedMessages;

/** The messages that a batch added. */
export type AppendedMessages = {
  /** The messages that were appended. */
  messages: Message[];
};

/** A request to be allowed something. */
export type Approval = {
  /** The id of the approval, under which it is answered. */
  id: Uuid;
  /** The thread it is about. */
  threadId: ThreadId;
  /** The capabilities that were asked for. */
  scope: Capability[];
  /** Why it was asked for, in words. */
  reason?: string | null;
  /** The state: pending, or the answer. */
  state: ApprovalState;
  /** The actor that asked. */
  askedBy: Actor;
  /** When it was asked for. */
  askedAt: Timestamp;
  /** When it times out. */
  timeoutAt?: Timestamp | null;
  /** The outcome if the time runs out. */
  fallback: Fallback;
  /** Whether it can be taken back after it was approved. */
  canRevoke: boolean;
  /** The one call of a tool that it allows, with its arguments. */
  call?: AskedCall | null;
  /** Whether it is pending past its time-out. */
  overdue: boolean;
  /** Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it back. */
  holds: boolean;
  /** The actor that answered. */
  answeredBy?: Actor | null;
  /** When it was answered. */
  answeredAt?: Timestamp | null;
  /** Why it was answered so, in words. */
  answerReason?: string | null;
  /** Whether the time-out answered. */
  timedOut?: boolean;
};

/** The state of an approval. */
export type ApprovalState = "pending" | "approved" | "denied" | "revoked";

/** Hides a thread from the main list. */
export type Archive = Record<string, never>;

/** One file, as it was at a version. */
export type ArtifactVersion = {
  /** The path of the file. */
  path: FilePath;
  /** The version of the thread at which it was so. */
  version: Version;
};

/** A call of a tool that needs an approval. */
export type AskedCall = {
  /** The name of the tool. */
  tool: string;
  /** Its arguments: a JSON object. */
  args: Record<string, unknown>;
  /** The id of the call that used the approval up. */
  used?: string | null;
};

/** Hands a thread to another agent. Its history stays. */
export type Assign = {
  /** The name of the agent. */
  agentId: string;
};

/** A file that belongs to a message. The blob store holds its bytes, and equal bytes only once. */
export type Attachment = {
  /** The hash of its bytes. */
  id: BlobId;
  /** The name of the file. */
  name: string;
  /** Its media type, such as `image/png`. */
  mimeType: string;
  /** Its size in bytes. */
  size: number;
  /** Its path among the files of the thread, if it has one. */
  path?: FilePath | null;
};

/** The result of a backfill. */
export type Backfilled = {
  /** Messages that were not in the index, and now are. */
  embedded: number;
  /** Messages that were dropped from it, because no thread is left that shows them. */
  cleaned: number;
};

/** Several messages, added as one. */
export type Batch = {
  /** The messages, in order. */
  messages: NewMessage[];
  /** Effects to schedule in the same commit. */
  effects?: NewEffect[];
};

/** Whether a reference shows its target as it was, or as it is. */
export type Binding = "frozen" | "live";

/** The BLAKE3 hash of some bytes, in hex digits. */
export type BlobId = string;

/** A capability of an agent: one of the standard list, or `tool:` and the name of a tool. */
export type Capability = string;

/** Moves a thread on in its life. */
export type ChangeLifecycle = {
  /** The move to make. */
  action: LifecycleAction;
  /** Why, in words for people. */
  reason?: string | null;
};

/** Gives a thread to another account, with the threads of its subagents. */
export type ChangeOwner = {
  /** The account that owns it from now on. */
  account: string;
};

/** How many were added, changed and removed. */
export type Changed = {
  /** Number of new ones. */
  added: number;
  /** Ones that are different now. */
  changed: number;
  /** Ones that are gone. */
  removed: number;
};

/** What a change of the tree answers with. */
export type Changed2 = FileRecord | Moved;

/** A version with a name. */
export type Checkpoint = {
  /** The name of the checkpoint. */
  name: string;
  /** The version it names. */
  version: Version;
  /** When the name was set. */
  createdAt: Timestamp;
};

/** The thread of a subagent, as its parent's registry knows it. */
export type Child = {
  /** The thread of the subagent. */
  reference: ThreadId;
  /** The name of the subagent. */
  name: string;
  /** A title for people. */
  title?: string | null;
  /** The task of the subagent. */
  description: string;
  /** Whether the subagent can be resumed after its work. */
  resumable?: boolean | null;
  /** Whether its parent waits for it. */
  blocking?: boolean | null;
  /** A name for the thread. */
  threadName?: string | null;
  /** Shared by the children that one message made. */
  spawnGroupId?: string | null;
  /** When the thread was registered. */
  createdAt: Timestamp;
  /** Its activity, in its own words. */
  status: string;
  /** Whether it reports to its parent by itself. */
  parentCommunication?: ParentCommunication | null;
};

/** A choice for one conflict: of a file, a value or a question. */
export type Choice = {
  /** The path of the file in conflict. */
  path?: FilePath | null;
  /** Or the key of the value in conflict. */
  key?: ValueKey | null;
  /** Or the question that has two answers. */
  question?: string | null;
  /** The side to take. */
  take?: Take | null;
  /** Or the text of the file, or the answer to the question. */
  content?: string | null;
  /** Or the new value. */
  value?: Json | null;
};

/** The error of a run. Positions are those of the source as it was sent. */
export type CodeError = {
  /** The name of the error, such as `TypeError`; `code_timeout` at the time limit. */
  name: string;
  /** Its message. */
  message: string;
  /** The calls that led to it. */
  stack?: string | null;
  /** The line, from 1. */
  line?: number | null;
  /** The column, from 1. */
  column?: number | null;
  /** The module. */
  filename?: string | null;
};

/** A line of the console. */
export type CodeLog = {
  /** The method of `console`, such as `log` or `warn`. */
  level: string;
  /** Its arguments as text. */
  message: string;
};

/** The outcome of a run of code. */
export type CodeOutcome = {
  /** How it ended. */
  status: "success" | "error" | "link_error" | "memory" | "terminated";
  /**
   * The result as JSON; absent for `undefined`. A bigint, a `Date` and bytes are text, a `Map` and a `Set`
   * are arrays.
   */
  result?: unknown;
  /** The values that the code reported, in order. */
  reports: unknown[];
  /** The console, in order, up to 1 MiB. */
  logs: CodeLog[];
  /** Time from the start of the code to its end, in milliseconds. */
  durationMs: number;
  /** What went wrong. */
  error?: CodeError | null;
};

/** Whether a run was open and is killed now. */
export type CodeTerminated = {
  /** Whether there was such a run. */
  terminated: boolean;
};

/** How each type of conflict is resolved. */
export type ConflictStrategy = {
  /** For files that both sides changed. */
  file?: FileStrategy;
  /** For questions that both sides answered differently. */
  decision?: DecisionStrategy;
  /** For values that both sides changed. */
  state?: StateStrategy;
};

/** The type of a conflict. */
export type ConflictType = "file" | "decision" | "code_dependency" | "state";

/** The content of a message: a string, or typed parts. */
export type Content = string | ({
  type: "text";
  text: string;
} | {
  type: "image";
  /** The path of the file. */
  path: string;
  /** The media type of the file. */
  mimeType: string;
  /** A name to show instead of the path. */
  name?: string | null;
} | {
  type: "file";
  /** The path of the file. */
  path: string;
  /** The media type of the file. */
  mimeType: string;
  /** A name to show instead of the path. */
  name?: string | null;
} | {
  type: "tool_use";
  /** The id of the call. */
  id: string;
  /** The name of the tool. */
  name: string;
  /** The arguments: any JSON. */
  input: unknown;
} | {
  type: "tool_result";
  /** The id of the call. */
  toolUseId: string;
  content: string | ({
    type: "text";
    text: string;
  } | {
    type: "image";
    /** The path of the file. */
    path: string;
    /** The media type of the file. */
    mimeType: string;
    /** A name to show instead of the path. */
    name?: string | null;
  } | {
    type: "file";
    /** The path of the file. */
    path: string;
    /** The media type of the file. */
    mimeType: string;
    /** A name to show instead of the path. */
    name?: string | null;
  } | {
    type: "tool_use";
    /** The id of the call. */
    id: string;
    /** The name of the tool. */
    name: string;
    /** The arguments: any JSON. */
    input: unknown;
  } | {
    type: "tool_result";
    /** The id of the call. */
    toolUseId: string;
    content: string;
    /** Whether the tool failed. */
    isError?: boolean;
  } | {
    type: "thinking";
    text: string;
    /** The provider that made it. */
    provider?: string;
    /** The provider's signature of the text. */
    signature?: string;
    /** Hidden reasoning, encrypted by the provider. */
    data?: string;
  })[];
  /** Whether the tool failed. */
  isError?: boolean;
} | {
  type: "thinking";
  text: string;
  /** The provider that made it. */
  provider?: string;
  /** The provider's signature of the text. */
  signature?: string;
  /** Hidden reasoning, encrypted by the provider. */
  data?: string;
})[];

/** What a model is given of a thread. */
export type Context = {
  /** The version of the thread that is read. */
  version: Version;
  /** The model, where the thread's agent is defined here or the run tells it. */
  model?: string | null;
  /** Tokens that fit, the answer aside. */
  budget: number;
  /** Whether tokens are estimates. */
  estimated: boolean;
  /** The summary of the messages that were cut. */
  summary?: ContextSummary | null;
  /** The messages that were cut: they are before the first one that is given. They stay in the thread. */
  cut: number;
  /** Whether the next request cuts more, and makes a new summary first. */
  cutsNext: boolean;
  /** Memories that fit the last message of the user, the best first. */
  memories: Memory[];
  /** The messages, oldest first. */
  messages: ContextMessage[];
  /** Tokens of each part. */
  tokens: ContextTokens;
};

/** A message that a model is given. */
export type ContextMessage = {
  /** The message of the thread; absent for one that only answers calls. */
  id?: MessageId | null;
  /** Its index in the default list; absent for silent messages. */
  index?: number | null;
  /** The role of the speaker, as this model sees it. */
  role: Role;
  /** Tokens of the message. */
  tokens: number;
};

/** A summary of the older part of a conversation. */
export type ContextSummary = {
  /** The messages that it stands for. */
  covers: Covered;
  /** The summary itself. */
  text: string;
  /** The model that wrote it; absent if it was picked from the messages without one. */
  model?: string | null;
  /** The version of the thread that brought it; absent if it is not kept yet. */
  version?: Version | null;
  /** Tokens of the text. */
  tokens: number;
};

/** Tokens of the parts of a request. */
export type ContextTokens = {
  /** The system prompt. */
  system: number;
  /** The tools that the model may call. */
  tools: number;
  /** The skills that are active. */
  skills: number;
  /** The summary of what was cut. */
  summary: number;
  /** The memories. */
  memories: number;
  /** The messages. */
  messages: number;
  /** All parts together. */
  total: number;
};

/** Messages from one to another, both included. */
export type Covered = {
  /** The first message of the thread that is covered. */
  first: MessageId;
  /** The last one. Messages after it are sent as they are. */
  last: MessageId;
  /** Number of messages. */
  count: number;
};

/** A key that was just made, with its secret, which is told this once. */
export type CreatedKey = {
  /** The secret, as requests carry it. */
  key: string;
  /** Its id, which is no secret. */
  id: string;
  /** The account it speaks for. */
  account: Account;
  /** The name of the person or program that uses it. */
  name: string;
  /** Whether a human or an agent does. */
  type: ActorKind;
  /** The rights of the key. */
  scope: Scope;
  /** When it was made. */
  createdAt: Timestamp;
  /** When it ends by itself. */
  expiresAt?: Timestamp | null;
  /** When it was revoked. */
  revokedAt?: Timestamp | null;
};

/** Records the answer to a question. The newest answer counts. */
export type Decide = {
  /** The question. Questions are compared without case and extra spaces. */
  question: string;
  /** The answer, which counts from now on. */
  answer: string;
  /** Why, in words for people. */
  reason?: string | null;
};

/** An answer that counts. */
export type Decision = {
  /** The question, as it was last asked. */
  question: string;
  /** The answer that was given. */
  answer: string;
  /** The reason for the answer. */
  reason?: string | null;
  /** The actor that decided. */
  actor: Actor;
  /** When it was decided. */
  createdAt: Timestamp;
  /** The version of the thread after it. */
  version: Version;
};

/** How a question that both sides answered differently is resolved. */
export type DecisionStrategy = "human" | "ours" | "theirs";

/** A definition. */
export type Definition = {
  /** The folder that it is in. */
  kind: "agents" | "prompts" | "models" | "mcp" | "tools" | "effects" | "hooks" | "api" | "skills" | "vendor";
  /** Its name: `NAME`, or `PACKAGE/NAME`. */
  name: string;
  /** Its file, from the folder of definitions. */
  file: string;
  /**
   * The content of its file as JSON, where one definition is asked for. Code, and the values of variables and
   * headers, are left out.
   */
  definition?: unknown;
  /** Mistakes in its file. Definitions that name it cannot be used either. */
  problems?: DefinitionProblem[];
};

/** All definitions of a server. */
export type DefinitionList = {
  /** The hash of all files: it changes with each of them. */
  hash: string;
  /** The definitions, by kind and name. */
  items: Definition[];
  /** Every mistake in the folder, also those of files that are no definition. */
  problems: DefinitionProblem[];
};

/** A mistake in a file of definitions. */
export type DefinitionProblem = {
  /** The file, from the folder of definitions. */
  file: string;
  /** The line, from 1. */
  line: number;
  /** The column, from 1. */
  column: number;
  /** The rule that it breaks. */
  rule: string;
};

/** A permission for agents to act on a thread without asking. */
export type Delegation = {
  /** The id of the delegation, under which it is revoked. */
  id: Uuid;
  /** The thread on which it holds. */
  threadId: ThreadId;
  /** The capabilities that it gives. */
  scope: Capability[];
  /** The agent, by its name; absent for every agent. */
  to?: string | null;
  /** The reason, for people to read. */
  reason?: string | null;
  /** When it expires. Absent if it is valid until it is revoked. */
  until?: Timestamp | null;
  /** Whether it can be revoked before that. */
  canRevoke: boolean;
  /** The human who gave it. */
  givenBy: Actor;
  /** When it was given. */
  givenAt: Timestamp;
  /** Whether it holds now. */
  holds: boolean;
};

/** `{"deleted": …}`: whether there was something to delete. */
export type Deleted = {
  /** Whether something was deleted. */
  deleted: boolean;
};

/** Where events go: one of the two. */
export type Deliver = {
  /** To the thread that observes, as an injection. */
  thread?: boolean;
  /** To this address, as a signed POST. */
  webhook?: string | null;
};

/** How a delta was taken. */
export type DeltaTold = {
  /** Number of chunks that the step has in the stream. */
  sequence: number;
  /** Whether somebody asked to stop the run. The executor then ends it. */
  stopRequested: boolean;
};

/** Counts of the changes that a thread made to its files. */
export type DiffStats = {
  /** Counts of whole files. */
  files: Changed;
  /** Counts of lines of files. */
  lines: Changed;
};

/** The direction of authority: from a human on request, or to agents in advance. */
export type Direction = "request_approval" | "delegate";

/** What is directly in a directory. */
export type Directory = {
  /** Directories first, then by name. */
  entries: FileRecord[];
};

/** The report of the doctor. */
export type Doctor = {
  /** Whether no problem was found, or all were repaired. */
  healthy: boolean;
  /** Whether derived data was rebuilt. */
  repaired: boolean;
  /** Threads that were looked at. */
  threads: number;
  /** Entries that were looked at. */
  entries: number;
  /** Blobs that were looked at. */
  blobs: number;
  /** Threads that were written to or deleted meanwhile. Each was compared at one version of its own. */
  changed: number;
  /** Derived data that differs from the log; a repair rebuilds it. */
  derived: string[];
  /** Damage to the log or to blobs, which nothing can rebuild. */
  damage: string[];
};

/** Replaces the text of a memory. */
export type EditMemory = {
  /** The new text: at most 8 KiB. */
  text: string;
};

/** New content, new metadata, or both. */
export type EditMessage = {
  /** The new content. */
  content: Content;
  /** Fields of the metadata to set; null clears one. */
  metadata?: Record<string, unknown> | null;
} | {
  /** Fields of the metadata to set; null clears one. */
  metadata: Record<string, unknown>;
};

/** An effect that has not ended. */
export type Effect = {
  /** The id of the effect, under which it is removed. */
  id: Uuid;
  /** The name of the effect. */
  name: EffectName;
  /** The arguments for the handler. */
  args: Json;
  /** When it is due. */
  scheduledAt: Timestamp;
  /** When it was scheduled. */
  createdAt: Timestamp;
  /** Pending, running or foreign. */
  state: "pending" | "running" | "foreign";
  /** The number of the claim under which it runs, from 1 on; 0 before the first. */
  attempt: number;
  /** The actor for whom its handler acts. */
  actor: Actor;
};

/** The name of an effect; `package/name` for one of a package. */
export type EffectName = string;

/** Tells subscribers of an event that is not logged. */
export type Emit = {
  /** The name of the event. */
  event: string;
  /** The data of the event: any JSON. */
  data: Json;
};

/** How many subscribers heard an event. */
export type EmitTold = {
  /** Subscribers that listened at that moment. */
  listeners: number;
};

/** Ends a run. */
export type EndRun = {
  /** The attempt that ends it, as the start told it. */
  attempt?: number;
  /** The outcome of the run. */
  status?: RunOutcome;
  /** The code of the reason, such as `stop_tool`: lower-case letters, digits and underscores. */
  reason?: string | null;
  /** Messages to append first. */
  messages?: NewMessage[];
};

/** The name of a variable. */
export type EnvName = string;

/** Whether the value of a variable may be shown. */
export type EnvType = "text" | "secret";

/** A variable, as a thread or an account sees it. */
export type EnvVariable = {
  /** The name of the variable. */
  name: EnvName;
  /** Whether the value may be shown. A thread sees variables of the account and the instance as secrets. */
  type: EnvType;
  /** Where it is set. */
  layer: "thread" | "account" | "instance";
  /** The thread on which it is set. */
  threadId?: ThreadId | null;
  /** The value. Lists leave out the values of secrets. */
  value?: string | null;
  /** What its writer should know, such as that it is too short to be redacted. */
  warnings?: string[];
};

/** A stable code. `/docs/errors/CODE` explains it; later versions may add some. */
export type ErrorCode = "invalid_thread_id" | "invalid_message_id" | "invalid_cursor" | "invalid_body" | "invalid_parameter" | "json_too_deep" | "too_large" | "path_escapes_root" | "index_out_of_range" | "version_in_future" | "before_birth" | "ambiguous_thread_id" | "invalid_export" | "unknown_export_version" | "export_cut_off" | "unauthorized" | "forbidden" | "approval_required" | "route_not_found" | "thread_not_found" | "message_not_found" | "queued_not_found" | "injection_not_found" | "checkpoint_not_found" | "attachment_not_found" | "file_not_found" | "no_thumbnail" | "merge_not_found" | "project_not_found" | "memory_not_found" | "key_not_found" | "store_not_found" | "approval_not_found" | "delegation_not_found" | "reference_not_found" | "run_not_found" | "observer_not_found" | "env_not_found" | "definition_not_found" | "tool_not_found" | "effect_not_found" | "reference_gone" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "unsupported_media_type" | "range_not_satisfiable" | "writer_held" | "writer_lost" | "writer_disposed" | "updates_refused" | "thread_closed" | "thread_suspended" | "thread_terminated" | "invalid_transition" | "queue_full" | "injections_full" | "effects_full" | "memories_full" | "decisions_full" | "run_open" | "run_over" | "run_has_one_side" | "nothing_to_undo" | "nothing_to_redo" | "is_a_directory" | "not_a_directory" | "directory_not_empty" | "quota_exceeded" | "approval_answered" | "approval_undone" | "validation_not_configured" | "project_exists" | "thread_exists" | "import_conflict" | "copy_differs" | "no_model" | "definition_invalid" | "server_running" | "other_cell" | "version_conflict" | "secret_in_file" | "idempotency_key_reused" | "rate_limited" | "internal" | "endpoint_failed" | "store_damaged" | "busy" | "secrets_unavailable" | "embedder_failed" | "sandbox_unavailable" | "sandbox_busy" | "unavailable" | "storage_failed" | "cannot_open_store" | "store_is_newer" | "flush_timeout" | "write_behind_full" | "cannot_read" | "cannot_write" | "cannot_listen" | "unreachable" | "fate_unknown" | "not_understood" | "disk_full";

/** A call of a function that the code exports. */
export type ExecuteCode = {
  /** The name of the export. */
  fn?: string;
  /** Its arguments. */
  args?: unknown[];
};

/** The open run of a thread, as `ThreadState` has it. */
export type ExecutionState = {
  /** The id of the run. */
  flowId: Uuid;
  /** The side whose turn it is. An agent of the type `ai_human` has one side, `a`. */
  currentSide: RunSide;
  /** Number of steps: questions to a model. */
  stepCount: number;
  /** Number of steps of side `a`. */
  sideAStepCount: number;
  /** Number of steps of side `b`. */
  sideBStepCount: number;
  /** Whether somebody asked to stop it. */
  stopped: boolean;
  /** When somebody asked to stop it. */
  stopRequestedAt?: Timestamp | null;
  /** The side that was asked to speak next, until the executor takes this up. */
  forcedSide?: RunSide | null;
  /** The prompts that work, the outermost first. Empty where the agent is not defined. */
  promptPath: string[];
};

/** The kind of program that works on a run. */
export type Executor = "runtime" | "caller";

/** The outcome of an approval that was not answered in time. */
export type Fallback = "skip" | "block" | "auto_approve";

/** A thread with all it is related to, directly or not: a page of it. */
export type Family = {
  /** The thread that was asked for. */
  threadId: ThreadId;
  /** The threads, that one first, then the nearest. */
  threads: Thread[];
  /** The relations among them, and with threads of earlier pages. */
  relations: Relation[];
  /** The subagents among them, as the registry of the thread they work for knows them. */
  subagents: Subagent[];
  /** The merges into threads of this page, from threads of this page and earlier ones. */
  merges: FamilyMerge[];
  /** Whether there are more threads than on this page and those before it. */
  cutOff: boolean;
  /**
   * The threads of this page that have more relatives: later pages show them, unless `depth` or `breadth`
   * leave them
   * out.
   */
  more: MoreRelatives[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
};

/** A merge that happened between two threads of a family. */
export type FamilyMerge = {
  /** The id of the merge. */
  mergeId: Uuid;
  /** The thread that was merged. */
  sourceId: ThreadId;
  /** The version of it that was merged. */
  sourceVersion: Version;
  /** The thread that it was merged into. */
  targetId: ThreadId;
  /** The version of the target that the merge made. */
  version: Version;
};

/** How the two sides of a file conflict. */
export type FileConflict = "both_changed" | "both_added" | "deleted_here" | "deleted_there" | "type_changed" | "binary";

/** The lines of a file that match. */
export type FileMatches = {
  /** The path of the file. */
  path: FilePath;
  /** The matching lines, in order. */
  matches: LineMatch[];
};

/** A version of a file in a source thread. */
export type FileOrigin = {
  /** The id of the source. */
  threadId: ThreadId;
  /** The version that wrote the file there; none if the file was removed there. */
  version?: Version | null;
};

/** The path of a file or a directory, from the root of the thread's files. */
export type FilePath = string;

/**
 * A file or a directory. A directory that is there only because of what is below it has no times and no
 * version.
 */
export type FileRecord = {
  /** Its path from the root of the thread. */
  path: FilePath;
  /** The last part of its path. */
  name: string;
  /** Whether it is a directory. */
  isDirectory: boolean;
  /** Its size in bytes; 0 for a directory. */
  size: number;
  /** The media type of a file, such as `text/plain`. */
  mimeType?: string | null;
  /** The hash of its content. */
  hash?: BlobId | null;
  /** The width of an image, in pixels. */
  width?: number | null;
  /** The height of an image, in pixels. */
  height?: number | null;
  /** Metadata that its writer gave it. */
  metadata?: Record<string, unknown> | null;
  /** When it was made. */
  createdAt?: Timestamp | null;
  /** When it last changed. */
  updatedAt?: Timestamp | null;
  /** The version of the thread with which it last changed. */
  version?: Version | null;
};

/** The size of the result. */
export type FileStats = {
  /** How many files the thread has. */
  fileCount: number;
  /** Directories, those included that are there because of what is below them. */
  directoryCount: number;
  /** Bytes of all files. */
  totalSize: number;
};

/** How a file that both sides changed is merged. */
export type FileStrategy = "three_way" | "ours" | "theirs" | "union" | "manual";

/** A version of a file: one entry that wrote or removed it. */
export type FileVersion = {
  /** The version of the thread that the entry made. */
  version: Version;
  /** When the entry was committed. */
  createdAt: Timestamp;
  /** The actor. Visitors of a public thread see no names. */
  actor: Actor;
  /** Whether the file was removed. */
  deleted: boolean;
  /** Its size in bytes from then on. */
  size?: number | null;
  /** Its media type from then on. */
  mimeType?: string | null;
  /** The hash of its content from then on. */
  hash?: BlobId | null;
};

/** Asks that a side of a run with two speak next. */
export type ForceTurn = {
  /** The side that speaks next: `a` or `b`. */
  side: RunSide;
};

/** Where to fork: now, or at one of these. */
export type Fork = {
  /** The title of the fork. */
  title?: string | null;
} | {
  /** After the message with this index. */
  messageIndex: number;
  /** The title of the fork. */
  title?: string | null;
} | {
  /** The last message that the fork shares. */
  messageId: MessageName;
  /** The title of the fork. */
  title?: string | null;
} | {
  /** As the thread was at this version. */
  version: Version;
  /** The title of the fork. */
  title?: string | null;
};

/** Files by their names. */
export type Found = {
  /** Where they are, in order. */
  paths: FilePath[];
  /** Whether there may be more. */
  truncated: boolean;
};

/** A memory that matches. */
export type FoundMemory = {
  /** The memory. */
  memory: Memory;
  /** How well it matches, compared with the other results: at most 1. */
  score: number;
};

/** The result of a garbage collection. */
export type Gc = {
  /** Number of freed segments. */
  segments: number;
  /** Number of freed entries. */
  entries: number;
  /** Number of freed blobs. */
  blobs: number;
  /** Bytes given back to the file system. */
  bytes: number;
};

/** Files with lines that match. */
export type Grepped = {
  /** The files, in the order of their paths. */
  files: FileMatches[];
  /** Whether there may be more. */
  truncated: boolean;
};

/** A new thread that goes on from a summary of this one. */
export type Handoff = {
  /** The purpose of the new thread. */
  goal: string;
  /**
   * A summary for the new thread. Default: one by the model of the thread's agent where that is defined, else
   * the built-in
   * summary of the conversation so far.
   */
  summary?: string | null;
  /** A description of the relation; without it, the goal. */
  comment?: string | null;
  /** The agent of the new thread; without it, the same agent. */
  agentId?: string | null;
};

/** The state of the server. */
export type Health = {
  /** `ok` if it lives, `ready` if it can serve. */
  status: string;
};

/** An entry of a thread's history. `data` is the body as the log keeps it, to the letter. */
export type HistoryEntry = {
  /** The thread whose history it is. */
  threadId: ThreadId;
  /** Its position in the history of the thread. */
  version: Version;
  /** The kind of the entry, such as `message_appended`. */
  kind: string;
  /** When the entry was committed. */
  time: Timestamp;
  /** The account that answers for it; visitors are not told. */
  account?: Account | null;
  /** The actor that wrote it. */
  actor: Actor;
  /** The cause that its writer named. */
  cause?: string | null;
  /** The id of the message that it brought. */
  messageId?: MessageId | null;
  /** The body of the entry. */
  data: Json;
};

/** What an import of another agent's conversations did. */
export type ImportReport = {
  /** Sessions that were read. */
  sessions: number;
  /** Threads that were made for sessions. */
  threads: number;
  /** Forks that were made for branches of sessions. */
  branches: number;
  /** Messages that were added. */
  messages: number;
  /** Messages that changed at the source, and were edited. */
  edited: number;
  /** Messages that were here already. */
  known: number;
  /** Files that did not change since the last import, and were not read. */
  unchanged: number;
  /** Sessions whose thread was deleted here: they stay deleted. */
  deleted: number;
  /** Records and files that could not be read. */
  skipped: number;
  /** Where the first of them are, and why they were skipped. */
  problems?: string[];
};

/** The result of an import: `{"threads": …, "known": …}`. */
export type Imported = {
  /** Number of threads that are new here. */
  threads: number;
  /** Number of threads that were here already, and were left as they are. */
  known: number;
};

/** How much a spawned thread inherits. */
export type Inherit = "full" | "partial" | "none";

/** Puts something before the executor of a thread; the next `begin` or `step` takes it up. */
export type Inject = {
  /** The type of the injection. */
  type: InjectionType;
  /** The content: any JSON. */
  content: Json;
  /** How soon it is delivered. */
  urgency?: Urgency;
};

/** The injection that was made. */
export type Injected = {
  /** The id of the injection. */
  injectionId: Uuid;
};

/** Something that was injected. */
export type Injection = {
  /** The id of the injection. */
  id: Uuid;
  /** The type of the injection. */
  type: InjectionType;
  /** The content: any JSON. */
  content: Json;
  /** How soon it is delivered. */
  urgency: Urgency;
  /** Whether it was taken up: `waiting` or `taken`. */
  state: InjectionState;
  /** The actor that injected it. */
  actor: Actor;
  /** When it was injected. */
  createdAt: Timestamp;
  /** The version of the thread after it. */
  version: Version;
  /** The executor that received it. */
  takenBy?: Actor | null;
  /** When it was delivered. */
  takenAt?: Timestamp | null;
  /** The run that took it up; absent if it was acknowledged by hand. */
  runId?: Uuid | null;
};

/** Whether an injection was delivered. */
export type InjectionState = "waiting" | "taken" | "all";

/** The type of an injection. */
export type InjectionType = "data" | "constraint" | "feedback" | "priority";

/** A request to run a tool at once. */
export type InvokeTool = {
  /** Its arguments. Default: none. */
  args?: Record<string, unknown>;
};

/** Any JSON, kept to the letter. It nests at most 128 deep. */
export type Json = unknown;

/** A key: `{id, account, name, type, scope, createdAt, expiresAt?, revokedAt?}`, never its secret. */
export type Key = {
  /** Its id, which is no secret. */
  id: string;
  /** The account it speaks for. */
  account: Account;
  /** The name of the person or program that uses it. */
  name: string;
  /** Whether a human or an agent does. */
  type: ActorKind;
  /** The rights of the key. */
  scope: Scope;
  /** When it was made. */
  createdAt: Timestamp;
  /** When it ends by itself. */
  expiresAt?: Timestamp | null;
  /** When it was revoked. */
  revokedAt?: Timestamp | null;
};

/** The state of a thread's lifecycle. */
export type Lifecycle = "active" | "suspended" | "completed" | "cancelled" | "archived";

/** An action that moves a thread from one state to another. */
export type LifecycleAction = "done" | "archive" | "cancel" | "suspend" | "resume";

/** A line that matches. */
export type LineMatch = {
  /** Which line, counted from 1. */
  line: number;
  /** At which character of the line the first match begins, counted from 1. */
  column: number;
  /** The line; of a long one, what is around the match. */
  text: string;
};

/** The state of approvals that are listed. */
export type ListedState = "pending" | "approved" | "denied" | "revoked" | "all";

/** `{"version": …}`: where something was logged. */
export type Logged = {
  /** The version of the thread after it. */
  version: Version;
};

/** A message or another event: `{type, version, createdAt, data}`. */
export type LoggedEvent = {
  /** `message`, `tool_use`, `assistant_text` or `result`. */
  type: string;
  /** Its version in the log. */
  version: Version;
  /** When it was logged. */
  createdAt: Timestamp;
  /** A whole message, or what the event carries. */
  data: Json;
};

/** The caller, as its key tells. */
export type Me = {
  /** The account that the key belongs to. */
  account: Account;
  /** The actor that the log names for changes with this key. */
  actor: Actor;
  /** The rights of the key. */
  scope: Scope;
  /** The version of the server. */
  version: string;
};

/** The results of a search among memories. */
export type MemoriesFound = {
  /** Memories, the best first; none if nothing matches. */
  results: FoundMemory[];
};

/** A text that is remembered across threads. */
export type Memory = {
  /** Its id. */
  id: Uuid;
  /** What is remembered. */
  text: string;
  /** Where it holds. */
  scope: "account" | "project";
  /** The project in whose threads it holds, if that is its scope. */
  projectId?: string | null;
  /**
   * The messages that it was taken from. It is forgotten when the last of them is deleted, unless a person
   * edited it.
   */
  sources: MessageName[];
  /** The thread that shows the sources. */
  threadId?: ThreadId | null;
  /** When it was made. */
  createdAt: Timestamp;
  /** When its text or its sources changed last. */
  updatedAt: Timestamp;
  /** Whether a person edited the text. Then it outlives its sources. */
  edited: boolean;
};

/** Records that a thread mentions another one. */
export type Mention = {
  /** The thread that is mentioned. */
  target: ThreadName;
  /** A description of the relation. */
  comment?: string | null;
};

/** Merges what other threads made into a thread. */
export type Merge = {
  /** The threads that are merged, in this order. */
  sources: ThreadName[];
  /** Which files, by patterns for their paths, and which values, by `kv:PREFIX`. Default: everything. */
  artifactScope?: string[];
  /** The resolution of each kind of conflict. */
  conflictStrategy?: ConflictStrategy;
  /**
   * Choices for single conflicts. Each names a path, a key or a question, and the side to take or the new
   * content.
   */
  choices?: Choice[];
  /** How the result is checked, by a command in the server's configuration. */
  validation?: Validation;
  /** Whether it needs an approval before it happens. */
  requiresApproval?: boolean;
  /** Only show what would happen. */
  dryRun?: boolean;
};

/** How a merge changed a file or a value. */
export type MergeAction = "added" | "taken" | "merged" | "removed";

/** The common base that both sides of a merge are compared with. */
export type MergeBase = {
  type: "empty";
} | {
  type: "history";
  /** Up to this position both see the same files. */
  files: Version;
  /** Up to this position both see the same values. */
  values: Version;
} | {
  type: "birth";
  /** The thread that was made from the other. */
  threadId: ThreadId;
  /** Its version at that time. */
  version: Version;
} | {
  type: "merge";
  /** The id of the earlier merge. */
  mergeId: Uuid;
  /** The thread that it merged. */
  threadId: ThreadId;
  /** The version that it merged. */
  version: Version;
};

/** A conflict: a file, a value or a decision that both sides changed. */
export type MergeConflict = {
  /** The type of the conflict. */
  type: ConflictType;
  /** For a file: how the two sides conflict. */
  detail?: FileConflict | null;
  /** The source thread that brought it. */
  source?: ThreadId | null;
  /** The path of the file. */
  path?: FilePath | null;
  /** The key of the value. */
  key?: ValueKey | null;
  /** The question that was answered twice. */
  question?: string | null;
  /** The common base: a hash, a value or an answer. */
  base?: Json | null;
  /** The same in the target; none if it was removed there. */
  ours?: Json | null;
  /** The same in the source; none if it was removed there. */
  theirs?: Json | null;
  /** Both texts with conflict markers, unless that is too long. A choice can send it back, edited. */
  merged?: string | null;
  /** How it was resolved; none if it is open. */
  resolved?: Resolved | null;
};

/** A thread that was merged, at one of its versions. */
export type MergeSource = {
  /** The thread that was merged. */
  threadId: ThreadId;
  /** Its version that was merged. */
  version: Version;
  /** The base that both sides were compared with. */
  base: MergeBase;
};

/** The state of a merge. */
export type MergeStatus = "clean" | "conflicted" | "failed" | "pending_approval" | "rejected" | "merged";

/** A merge and its state. */
export type MergeTold = {
  /** Its identity; absent for a dry run. */
  mergeId?: Uuid | null;
  /** The state of the merge. Nothing changed unless it is `merged`. */
  status: MergeStatus;
  /** The merged threads, each with its version and the base of the comparison. */
  sources: MergeSource[];
  /** The files that changed, or would have. */
  files: MergedFile[];
  /** The values that changed, or would have. */
  values: MergedValue[];
  /** The changes that both sides made, and how each was resolved. */
  conflicts: MergeConflict[];
  /** The result of the check. */
  validation?: ValidationResult | null;
  /** The approval it waits for, or waited for. */
  approvalId?: Uuid | null;
  /** Who asked for it. */
  by: Actor;
  /** The version of the thread with which this was recorded; absent for a dry run. */
  version?: Version | null;
  /** When this was recorded; absent for a dry run. */
  createdAt?: Timestamp | null;
};

/** A file that a merge changed, and where its content comes from. */
export type MergedFile = {
  /** The path in the target. */
  path: FilePath;
  /** How the merge changed the file. */
  action: MergeAction;
  /** The source threads it comes from, each with the version that wrote it there. */
  from: FileOrigin[];
  /** The hash of its content now; none if it was removed. */
  hash?: BlobId | null;
};

/** A value that a merge changed. */
export type MergedValue = {
  /** The key of the value. */
  key: ValueKey;
  /** How the merge changed the value. */
  action: MergeAction;
  /** The source thread it comes from. */
  threadId: ThreadId;
};

/**
 * A message. Content and metadata are the body's, to the letter: borrowed from it, or owned by one that was
 * read.
 */
export type Message = {
  /** The same in every fork. A message that waited in a queue keeps the name it had there. */
  id: MessageName;
  /** Counts up within a thread; gaps are fine. */
  number: number;
  /** Its index: its place in the default list, counted from 0. Pages of that list tell it. */
  index?: number | null;
  /** The role it plays. */
  role: Role;
  /** The name of the speaker or the tool. */
  name?: string | null;
  /** The content: a string, or typed parts. */
  content: Content;
  /** Metadata of the writer: a JSON object. */
  metadata: Record<string, unknown>;
  /** Whether lists hide it. */
  silent: boolean;
  /** How far below the conversation it hangs. */
  depth: number;
  /** The message it hangs under. */
  parentId?: MessageId | null;
  /** Whether it is whole. */
  status: MessageStatus;
  /** The actor that wrote it. */
  actor: Actor;
  /** When it entered the log. */
  createdAt: Timestamp;
  /** The thread's version at which it got its present form. */
  version: Version;
  /** Files that belong to it. */
  attachments?: Attachment[];
};

/** A message as it is handed in and as the log keeps it. */
export type MessageBody = {
  /** The role of the message. */
  role: Role;
  /** The name of the speaker or the tool. */
  name?: string | null;
  /** The content: text or typed parts. */
  content: Content;
  /** A free-form JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Hidden from lists by default, still part of the conversation. */
  silent?: boolean;
  /** Its level below the conversation; 0 is the conversation itself. */
  depth?: number;
  /** The message above it. */
  parentId?: MessageId | null;
  /** Whether it is complete. */
  status?: MessageStatus;
  /** Files that belong to it. */
  attachments?: Attachment[];
};

/** The identity of a message, the same in every fork: `M-` and hex digits. */
export type MessageId = string;

/** A message, by its id or by the id it had in the queue. */
export type MessageName = string;

/** Whether a message is complete. */
export type MessageStatus = "pending" | "completed" | "failed";

/** What a model was given in a step, and what that took. */
export type ModelCall = {
  /** The name of the model. */
  model: string;
  /** The version of the thread that was read for it. */
  asOf?: Version | null;
  /** The first message that was sent. All later ones that a model sees were sent too. */
  firstMessage?: MessageId | null;
  /** Number of messages that were sent. */
  messages?: number;
  /** The prompt that was used. */
  prompt?: string | null;
  /** The side that spoke, of an agent with two: `a` or `b`. */
  side?: string | null;
  /** Tokens and cost. */
  usage?: Usage;
  /** Time until the first piece of the answer, in milliseconds. */
  firstResponseMs?: number | null;
  /** Time until the last piece of the answer, in milliseconds. */
  durationMs?: number | null;
};

/** A message as a model is given it. */
export type ModelMessage = {
  /** The message of the thread it is; absent for one that only answers calls. */
  id?: MessageId | null;
  /** The role of the speaker. */
  role: Role;
  /** The name of the speaker or the tool. */
  name?: string | null;
  /** The content: a string, or typed parts. */
  content: Content;
};

/** The relatives of a thread that are not shown. */
export type MoreRelatives = {
  /** A thread of this page. */
  threadId: ThreadId;
  /** How many of its direct relatives are neither on this page nor on one before it. */
  count: number;
};

/** The result of a move. */
export type Moved = {
  /** Where it is now. */
  path: FilePath;
  /** Number of moved files. */
  files: number;
};

/** Schedules an effect: its handler runs once the delay has passed, also after a restart. */
export type NewEffect = {
  /** The name of the effect: that of its handler. */
  name: EffectName;
  /** The arguments for the handler: an object of at most 256 KiB. */
  args?: Record<string, unknown> | null;
  /** How long it waits, in milliseconds. Default: 0. */
  delay?: number;
};

/** An event to log. */
export type NewEvent = {
  type: "message";
  data: Said;
} | {
  type: "tool_use";
  data: Record<string, unknown>;
} | {
  type: "assistant_text";
  data: Record<string, unknown>;
} | {
  type: "result";
  data: Record<string, unknown>;
};

/** Creates an API key for an account. */
export type NewKey = {
  /** The account it speaks for. */
  account: string;
  /** The rights of the key. Default: `write`. */
  scope?: Scope | null;
  /** Who uses it. Default: the account's name. */
  name?: string | null;
  /** Whether an agent uses it. */
  agent?: boolean;
  /** When it ends by itself. */
  expiresAt?: Timestamp | null;
};

/** A message as it is handed in and as the log keeps it. */
export type NewMessage = {
  /** The role of the message. */
  role: Role;
  /** The name of the speaker or the tool. */
  name?: string | null;
  /** The content: text or typed parts. */
  content: Content;
  /** A free-form JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Hidden from lists by default, still part of the conversation. */
  silent?: boolean;
  /** Its level below the conversation; 0 is the conversation itself. */
  depth?: number;
  /** The message above it. */
  parentId?: MessageId | null;
  /** Whether it is complete. */
  status?: MessageStatus;
  /** Files that belong to it. */
  attachments?: Attachment[];
};

/** One message, or several. */
export type NewMessages = PlacedMessage | Batch;

/** Tells a thread what happens to another one. */
export type NewObserver = {
  /** The thread that is observed. It belongs to the same account. */
  target: ThreadName;
  /** Which events. Default: all of them. */
  events?: ObservedEvent[];
  /** Where they go. Default: to the thread that observes. */
  deliver?: Deliver;
};

/** Makes a reference to another thread: to read it as it is now, or to follow it. */
export type NewReference = {
  /** The thread that is read. */
  target: ThreadName;
  /**
   * The parts that are read: `all`, `messages`, `files`, `kv`, or patterns for paths of files. Default: all.
   */
  scope?: ReferenceScope[];
  /** Whether it follows the target. Default: frozen. */
  binding?: Binding;
};

/** A new thread for a subagent of this one. */
export type NewSubagent = {
  /** The name of the subagent. */
  name: string;
  /** A title for people. */
  title?: string | null;
  /** The task of the subagent. */
  description?: string;
  /** The agent that works on it. */
  agentId?: string | null;
  /** Whether it stays after its work, and can be spoken to again. */
  resumable?: boolean | null;
  /** Whether its parent waits for it. */
  blocking?: boolean | null;
  /** A name for the thread. */
  threadName?: string | null;
  /** Shared by the subagents that one message started. */
  spawnGroupId?: string | null;
  /** Whether it reports to its parent by itself. */
  parentCommunication?: ParentCommunication | null;
  /** The first status of the subagent. Default: `created`. */
  status?: string | null;
  /** The messages it begins with. */
  messages?: NewMessage[];
  /**
   * Paths of files of this thread. The new one gets them with the last of its messages, as
   * `/attachments/NAME`.
   */
  attachments?: FilePath[];
};

/** A new thread: any of its fields, and its first messages. */
export type NewThread = {
  /** A title for people. */
  title?: string | null;
  /** Whether the main list hides it. */
  archived?: boolean | null;
  /** The text of a message that is not sent yet. */
  draft?: string | null;
  /** Whether the draft is sent by itself. */
  autoSubmitDraft?: boolean | null;
  /** The mode the agent works in. */
  agentMode?: string | null;
  /** The limit of output tokens. */
  maxTokens?: number | null;
  /** The agent it belongs to. */
  agentId?: string | null;
  /** The task it belongs to. */
  taskId?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** The user it belongs to. */
  userId?: string | null;
  /** The purpose of the thread. */
  intent?: string | null;
  /** A free-form JSON object, replaced whole. */
  metadata?: Record<string, unknown> | null;
  /** The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`. */
  env?: Record<string, unknown> | null;
  /** Who may read it: its account alone, or everyone. */
  visibility?: Visibility | null;
  /** The messages that the thread begins with. */
  messages?: NewMessage[];
};

/** A stream to open with a ticket. */
export type NewTicket = {
  /** Its path, without a query. */
  path: string;
};

/** A body that says nothing: empty, or `{}`. */
export type Nothing = Record<string, never>;

/** The result of a message to the parent: it waits there, or there is no parent. */
export type Notified = {
  /** Whether there was a parent to tell. */
  notified: boolean;
  /** The message that waits there. */
  queued?: Queued | null;
};

/** Queues a silent message for the thread that this one works for. */
export type NotifyParent = {
  /** The text of the message. */
  content: string;
  /** Paths of files of this thread. The parent gets them with the message, as `/attachments/NAME`. */
  attachments?: FilePath[];
};

/** The events of a thread that an observer can ask for. */
export type ObservedEvent = "status_changed" | "artifact_created" | "artifact_updated" | "error_occurred" | "approval_requested" | "done";

/** An observer: events of one thread that go to another thread or to a webhook. */
export type Observer = {
  /** The id of the observer, under which it is removed. */
  id: Uuid;
  /** The thread that is told. */
  threadId: ThreadId;
  /** The thread that is observed. */
  target: ThreadId;
  /** The events it is told of. */
  events: string[];
  /** The destination of the events. */
  deliver: Deliver;
  /** The secret that signs posts to a webhook. Shown once, when the observer is made. */
  secret?: string | null;
  /** Who asked for it. */
  createdBy: Actor;
  /** When it was asked for. */
  createdAt: Timestamp;
  /** Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it back. */
  holds: boolean;
};

/** Answers about one path. */
export type One = FileRecord | Directory | PageOfFileVersion;

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfApproval = {
  /** The items of this page, in order. */
  items: Approval[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfCheckpoint = {
  /** The items of this page, in order. */
  items: Checkpoint[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfChild = {
  /** The items of this page, in order. */
  items: Child[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfDecision = {
  /** The items of this page, in order. */
  items: Decision[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfDelegation = {
  /** The items of this page, in order. */
  items: Delegation[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfEffect = {
  /** The items of this page, in order. */
  items: Effect[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfEnvVariable = {
  /** The items of this page, in order. */
  items: EnvVariable[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfFileRecord = {
  /** The items of this page, in order. */
  items: FileRecord[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfFileVersion = {
  /** The items of this page, in order. */
  items: FileVersion[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfHistoryEntry = {
  /** The items of this page, in order. */
  items: HistoryEntry[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfInjection = {
  /** The items of this page, in order. */
  items: Injection[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfKey = {
  /** The items of this page, in order. */
  items: Key[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfLoggedEvent = {
  /** The items of this page, in order. */
  items: LoggedEvent[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfMemory = {
  /** The items of this page, in order. */
  items: Memory[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfMergeTold = {
  /** The items of this page, in order. */
  items: MergeTold[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfMessage = {
  /** The items of this page, in order. */
  items: Message[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfObserver = {
  /** The items of this page, in order. */
  items: Observer[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfProject = {
  /** The items of this page, in order. */
  items: Project[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfQueued = {
  /** The items of this page, in order. */
  items: Queued[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfQueuedTool = {
  /** The items of this page, in order. */
  items: QueuedTool[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfRelationship = {
  /** The items of this page, in order. */
  items: Relationship[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfRun = {
  /** The items of this page, in order. */
  items: Run[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfThreadSummary = {
  /** The items of this page, in order. */
  items: ThreadSummary[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** A page of a list: `{items, nextCursor, total?, totalIsExact?}`. */
export type PageOfValue = {
  /** The items of this page, in order. */
  items: Value[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
  /**
   * False if there are more than `total`, which counting stopped at. It is only given then: otherwise the
   * total is
   * exact.
   */
  totalIsExact?: boolean;
};

/** Whether a subagent reports to its parent by itself. */
export type ParentCommunication = "implicit" | "explicit";

/** Where a message is placed. */
export type Place = {
  /** The message before which it is inserted. */
  before: MessageName;
};

/** A message to add, at the end or before another. */
export type PlacedMessage = {
  /** The role of the message. */
  role: Role;
  /** The name of the speaker or the tool. */
  name?: string | null;
  /** The content: text or typed parts. */
  content: Content;
  /** A free-form JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Hidden from lists by default, still part of the conversation. */
  silent?: boolean;
  /** Its level below the conversation; 0 is the conversation itself. */
  depth?: number;
  /** The message above it. */
  parentId?: MessageId | null;
  /** Whether it is complete. */
  status?: MessageStatus;
  /** Files that belong to it. */
  attachments?: Attachment[];
  /** Where it is placed; at the end by default. */
  position?: Place | null;
  /** Effects to schedule in the same commit. */
  effects?: NewEffect[];
};

/** A problem, in the form of RFC 9457. */
export type Problem = {
  /** The page that explains the code, relative to the server. */
  type: string;
  /** The status in words. */
  title: string;
  /** The status of the answer. */
  status: number;
  /** The stable code of the error. */
  code: ErrorCode;
  /** The error in one sentence. */
  detail: string;
  /** The next step for the caller, if the detail does not say it. */
  hint?: string | null;
  /** The field of the request that breaks a rule. */
  field?: string | null;
  /** The present version of the thread, for a conflict. */
  currentVersion?: Version | null;
  /** The approval that has to be given first, where that is the reason. */
  approvalId?: Uuid | null;
  /** Who, in words for people. */
  holder?: string;
  /** When the lease ends unless it is renewed. */
  expiresAt?: Timestamp;
  /** The state of the thread. */
  lifecycle?: Lifecycle;
  /** The actions of `lifecycle` that it allows; none if it is over. */
  allowed?: LifecycleAction[];
  /** The request's id, as in the header `X-Request-Id`. */
  requestId: string;
};

/** A run after a start, a step or an end. */
export type Progressed = {
  /** The id of the run. */
  id: Uuid;
  /** The thread that it works on. */
  threadId: ThreadId;
  /** The agent that works. */
  agentId?: string | null;
  /** The program that works on it. */
  executor: Executor;
  /** The status of the run. */
  status: RunStatus;
  /** The code of the reason, of a run that waits or ended. */
  reason?: string | null;
  /** The name of the actor that started it. */
  by: string;
  /** Which attempt works on it. Steps, deltas and the end name it. */
  attempt: number;
  /** Number of steps. */
  stepCount: number;
  /** When the run started. */
  startedAt: Timestamp;
  /** When another executor may take over from a caller, unless a step renews it. */
  expiresAt?: Timestamp | null;
  /** When the run ended. */
  completedAt?: Timestamp | null;
  /** When somebody asked to stop it. */
  stopRequestedAt?: Timestamp | null;
  /** The answers that it waits for. */
  waits?: Wait[];
  /** Tokens and cost of all its steps. */
  usage: Usage;
  /** Whose turn it is, where the agent has two sides. */
  sides?: Sides | null;
  /** The version of the thread. */
  version: Version;
  /** The messages that were appended to the conversation, in order. */
  delivered: Message[];
  /** The injections that were delivered, immediate ones first. They are not part of the conversation. */
  injections: Injection[];
  /** The conversation as a model is given it, for a caller that starts. */
  messages?: ModelMessage[] | null;
};

/** A project, as its owner sees it. */
export type Project = {
  /** Its id within the account. */
  id: string;
  /** A name for people. */
  name: string;
  /** The name of an icon. */
  iconName?: string | null;
  /** The sandbox that its threads work in. */
  sandbox?: Sandbox | null;
  /** When it was made. */
  createdAt: Timestamp;
};

/** The fields of a project; null clears a field. */
export type ProjectChanges = {
  /** A name for people. */
  name?: string;
  /** The name of an icon. */
  iconName?: string | null;
  /** The sandbox that its threads work in. */
  sandbox?: Sandbox | null;
};

/** Creates a project in the account. */
export type PutProject = {
  /** Its id; a new one by default. */
  id?: string | null;
  /** A name for people. */
  name: string;
  /** The name of an icon. */
  iconName?: string | null;
  /** The sandbox that its threads work in. */
  sandbox?: Sandbox | null;
};

/** Queues a tool: a run carries it out after the calls of the model. */
export type QueueTool = {
  /** Its arguments: a JSON object. Default: none. */
  args?: Record<string, unknown> | null;
};

/** A message that waits. */
export type Queued = {
  /** Its name, which it keeps when it is delivered. */
  id: QueuedId;
  /** Its number, which it keeps too. */
  number: number;
  /** The message that waits. */
  queuedMessage: MessageBody;
  /** The actor that queued it. */
  actor: Actor;
  /** When it was queued, or last edited. */
  createdAt: Timestamp;
};

/** A message that is or was in the queue: `queued-` and a uuid of version 8. */
export type QueuedId = string;

/** A tool that waits for a run. */
export type QueuedTool = {
  /** Its name in the queue. */
  id: QueuedId;
  /** The name of the tool, or of an agent to hand off to. */
  tool: string;
  /** Its arguments. */
  args: Record<string, unknown>;
  /** The actor that queued it, and whose authority holds. */
  actor: Actor;
  /** When it was queued. */
  createdAt: Timestamp;
};

/** Whether the server is ready, and for what. */
export type Ready = {
  /** The word `ready`, if it is. */
  status: string;
  /** `ready` if code of requests runs, else why it does not. */
  sandbox: string;
};

/**
 * Takes back the last undo. Each further redo goes one step further forward, until something else is written.
 */
export type Redo = Record<string, never>;

/** A reference: one thread reads another one. */
export type Reference = {
  /** The id of the reference. */
  refId: Uuid;
  /** The thread that reads. */
  threadId: ThreadId;
  /** The thread that is read. */
  target: ThreadId;
  /** The parts that are read. */
  scope: ReferenceScope[];
  /** Whether it is frozen, or follows the target. */
  binding: Binding;
  /** The version of the target when the reference was made. A frozen reference shows this version. */
  snapshotVersion: Version;
  /** The actor that made it. */
  createdBy: Actor;
  /** When it was made. */
  createdAt: Timestamp;
  /** Whether the entry that made it is in view: a rollback undoes it, and an undo brings it back. */
  holds: boolean;
};

/** The part of a thread that is read: `all`, `messages`, `files`, `kv`, or a pattern for paths of files. */
export type ReferenceScope = string;

/** The references of a thread that hold, from both sides. */
export type References = {
  /** The references that this thread made. */
  outgoing: Reference[];
  /** The references to this thread that the caller may see. */
  incoming: Reference[];
};

/** Answers about one path. */
export type ReferredPath = FileRecord | Directory;

/** A relation, seen from neither end. */
export type Relation = {
  /** The thread it was made on. */
  parentId: ThreadId;
  /** The thread at the other end. */
  childId: ThreadId;
  /** The kind of relation. */
  type: RelationKind;
  /** The index of the message where it was made. */
  messageIndex?: number | null;
  /** When it was made. */
  createdAt: Timestamp;
  /** A comment of the actor that made it. */
  comment?: string | null;
};

/** The type of a relation between two threads. */
export type RelationKind = "fork" | "handoff" | "mention" | "spawn" | "reference";

/** The end of a relation at which a thread is. */
export type RelationRole = "parent" | "child";

/** A relation as one of its two threads sees it. */
export type Relationship = {
  /** The thread at the other end. */
  threadId: ThreadId;
  /** The kind of relation. */
  type: RelationKind;
  /** The role of the thread that sees it: `parent` or `child`. */
  role: RelationRole;
  /** The index of the message where it was made. */
  messageIndex?: number | null;
  /** When it was made. */
  createdAt: Timestamp;
  /** A comment of the actor that made it. */
  comment?: string | null;
};

/** `{"released": …}`: whether a lease was still held. */
export type Released = {
  /** Whether a lease was still held, and is released now. */
  released: boolean;
};

/** Renews a lease. */
export type RenewWriter = {
  /** How long it lasts from now on, in milliseconds. */
  ttl?: number | null;
  /** Who holds it; a renewal does not change that. */
  holder?: string | null;
};

/** A variable that an agent requires. */
export type RequiredVariable = {
  /** The name of the variable. */
  name: EnvName;
  /** Whether the value may be shown. */
  type: EnvType;
  /** Its purpose, for people. */
  description?: string | null;
};

/** The variables that a subagent requires. */
export type RequiredVariables = {
  /** Those that its agent requires and takes from no caller, by name. */
  required: RequiredVariable[];
  /** The names of those that it lacks. It starts once there are none. */
  missing: EnvName[];
};

/** How a conflict was resolved. */
export type Resolved = "ours" | "theirs" | "union" | "content";

/** Whether a key was revoked. */
export type Revoked = {
  /** False if there was no such key, or it was revoked already. */
  revoked: boolean;
};

/** The role a message plays in the conversation. */
export type Role = "user" | "assistant" | "info" | "tool" | "system";

/** Where to go back to. */
export type Rollback = {
  /** To the version with this name. */
  checkpoint: string;
} | {
  /** To just after this message of the assistant, with the results of its calls: its id or its index. */
  step: StepName;
} | {
  /** To how it was at this time. */
  timestamp: Timestamp;
} | {
  /** The version to go back to. */
  version: Version;
} | {
  /** To what this file was at a version; everything else stays. */
  artifactVersion: ArtifactVersion;
} | {
  /** To before the last rollback or truncation. */
  undo: true;
};

/** A run. */
export type Run = {
  /** The id of the run. */
  id: Uuid;
  /** The thread that it works on. */
  threadId: ThreadId;
  /** The agent that works. */
  agentId?: string | null;
  /** The program that works on it. */
  executor: Executor;
  /** The status of the run. */
  status: RunStatus;
  /** The code of the reason, of a run that waits or ended. */
  reason?: string | null;
  /** The name of the actor that started it. */
  by: string;
  /** Which attempt works on it. Steps, deltas and the end name it. */
  attempt: number;
  /** Number of steps. */
  stepCount: number;
  /** When the run started. */
  startedAt: Timestamp;
  /** When another executor may take over from a caller, unless a step renews it. */
  expiresAt?: Timestamp | null;
  /** When the run ended. */
  completedAt?: Timestamp | null;
  /** When somebody asked to stop it. */
  stopRequestedAt?: Timestamp | null;
  /** The answers that it waits for. */
  waits?: Wait[];
  /** Tokens and cost of all its steps. */
  usage: Usage;
  /** Whose turn it is, where the agent has two sides. */
  sides?: Sides | null;
};

/** Indexes messages that are missing in the search index. */
export type RunBackfill = {
  /**
   * The agent whose messages are counted in the answer; all of the account if nothing is said. What is
   * indexed is always
   * everything.
   */
  agentId?: string | null;
};

/** Code to run on a thread: one ES module. Unknown options are a `link_error`. */
export type RunCode = {
  /**
   * A name for the run, by which it can be terminated. An account uses it for one run of a thread at a time.
   */
  id?: string | null;
  /** The source of the module. */
  source: string;
  /** The language of the source. */
  language?: "typescript" | "javascript" | null;
  /**
   * The exported function to call. Without it the default export is called, or is the result if it is no
   * function.
   */
  execute?: ExecuteCode | null;
  /** Sources of other modules, by relative specifiers such as `./util.ts`. */
  modules?: Record<string, string>;
  /** Global variables. */
  globals?: Record<string, unknown>;
  /** Modules of values: bare specifiers, each with its exports. */
  imports?: Record<string, Record<string, unknown>>;
  /** The name of the module in errors. Default: `main.ts`, or `main.js` for JavaScript. */
  filename?: string | null;
  /**
   * Calls that the code may make by `import { NAME } from "threadkeep"`: names such as `append`, names of
   * operations
   * such as `listMessages`, or `read` and `write` for all calls about the thread. Default: none.
   */
  grants?: string[];
  /** Memory of the code in bytes. Default: 64 MiB. */
  memoryLimitBytes?: number | null;
  /** Time until the run is killed, in milliseconds. Default: 30,000. */
  timeoutMs?: number | null;
  /** Answers with a stream of events: `log`, `report`, and `outcome` as the last one. */
  stream?: boolean;
};

/** Compares everything with the log. */
export type RunDoctor = {
  /** Rebuild from the log what is derived and wrong. */
  repair?: boolean;
};

/** An event in the stream of a run. */
export type RunEvent = {
  type: "timing";
  /** Time from the start of the run to the first piece, in milliseconds. */
  first_response_ms: number;
  /** The way of the answer. */
  pipeline: "stateless" | "caller";
} | {
  type: "assistant";
  /** The text: a chunk, or all of it. */
  content: string;
  /** The id of the run. */
  run: Uuid;
  /** The number of the step, counted from 1. */
  step: number;
  /** Whether it is a chunk, or all of the text. */
  stream_status: "chunk" | "complete" | "discarded";
  /** The message in the log, of a complete text. */
  message_id?: MessageId | null;
} | {
  type: "tool_call";
  /** The name of the tool. */
  tool_name: string;
  /** Whether it runs, or how it ended. */
  status: "executing" | "completed" | "failed";
} | {
  type: "status";
  /**
   * `queued`, `running`, `retrying`, `waiting`, `stopping`, `completed`, `failed` or `stopped`; `degraded` if
   * text of
   * other servers is not shown as it is made.
   */
  status: string;
  /** The same in words. */
  message: string;
};

/** Frees data that no thread reaches any more. */
export type RunGc = {
  /** Give the space back to the file system too. */
  vacuum?: boolean;
};

/** How a run ended. */
export type RunOutcome = "completed" | "failed" | "stopped";

/** A side of an agent. Only an agent of the type `dual_ai` has a second one. */
export type RunSide = "a" | "b";

/** The status of a run. */
export type RunStatus = "queued" | "running" | "waiting" | "completed" | "failed" | "stopped";

/** A step of a run. */
export type RunStep = {
  /** The number of the step, counted from 1. */
  number: number;
  /** The attempt that made it. */
  attempt: number;
  /** The version of the thread after it began to be stored. */
  version: Version;
  /** When it was stored. */
  at: Timestamp;
  /** Whether it goes on with the step before, such as with the result of a call. */
  continues?: boolean;
  /** The model that was asked, what it was given, and what that took. */
  model?: ModelCall | null;
};

/** A run with its steps. */
export type RunTold = {
  /** The id of the run. */
  id: Uuid;
  /** The thread that it works on. */
  threadId: ThreadId;
  /** The agent that works. */
  agentId?: string | null;
  /** The program that works on it. */
  executor: Executor;
  /** The status of the run. */
  status: RunStatus;
  /** The code of the reason, of a run that waits or ended. */
  reason?: string | null;
  /** The name of the actor that started it. */
  by: string;
  /** Which attempt works on it. Steps, deltas and the end name it. */
  attempt: number;
  /** Number of steps. */
  stepCount: number;
  /** When the run started. */
  startedAt: Timestamp;
  /** When another executor may take over from a caller, unless a step renews it. */
  expiresAt?: Timestamp | null;
  /** When the run ended. */
  completedAt?: Timestamp | null;
  /** When somebody asked to stop it. */
  stopRequestedAt?: Timestamp | null;
  /** The answers that it waits for. */
  waits?: Wait[];
  /** Tokens and cost of all its steps. */
  usage: Usage;
  /** Whose turn it is, where the agent has two sides. */
  sides?: Sides | null;
  /** The steps, in order. */
  steps: RunStep[];
};

/** Something a user or an assistant said. */
export type Said = {
  /** The role of the speaker. */
  role: Speaker;
  /** The content of the message. */
  content: Content;
};

/** A sandbox, as its operator knows it. */
export type Sandbox = {
  /** The id of the sandbox at its operator. */
  externalId: string;
  /** How it is reached and set up. It may hold passwords: only the owner of the project sees it. */
  config?: Json | null;
};

/** The rights of a key. Each scope includes the ones before it. */
export type Scope = "read" | "write" | "admin";

/** The results of a search. */
export type SearchFound = {
  /** Threads, the best first, each once; none if nothing matches. */
  results: SearchResult[];
  /** How long the search took, in milliseconds. */
  tookMs: number;
};

/** Searches memories by words and meaning. */
export type SearchMemories = {
  /** The question, in plain words. Quotation marks ask for words that follow each other. */
  query: string;
  /** Those that hold in this project: the account's and its own. Without it, all memories are searched. */
  projectId?: string | null;
  /** Number of memories (default 5, maximum 100). */
  limit?: number | null;
};

/** A message of a hit. */
export type SearchMessage = {
  /** The id of the message. */
  messageId: MessageId;
  /** The role of the speaker. */
  role: Role;
  /** The content as plain text. */
  text: string;
  /** When it was said. */
  timestamp: Timestamp;
  /** Whether this message is the hit. The others surround it. */
  match: boolean;
  /**
   * The parts of the text that say what was asked, each from where to where (exclusive), in UTF-16 code
   * units, as
   * JavaScript counts: `text.slice(start, end)`. Only the message that answers has some.
   */
  highlights?: number[][];
};

/** A thread that matches, opened at its best message. */
export type SearchResult = {
  /**
   * The thread. A message that several threads share is reported under the one that wrote it, if it is the
   * caller's and
   * passes the filters, else under the oldest that does.
   */
  threadId: ThreadId;
  /** The title of the thread. */
  threadTitle?: string | null;
  /** The message that answers best. */
  messageId: MessageId;
  /** When that was said. */
  timestamp: Timestamp;
  /** How well the thread matches, compared with the other results: at most 1. */
  score: number;
  /** The two parts of the score of the message. */
  why: SearchWhy;
  /** How many other threads of the caller show the message. */
  alsoIn: number;
  /** Whether the thread does not show it any more. */
  superseded: boolean;
  /** The message, and those around it, in their order. */
  messages: SearchMessage[];
};

/** The state of the search index. */
export type SearchStatus = {
  /** Whether every entry is indexed. */
  caughtUp: boolean;
  /** Entries of the log that are not indexed yet. 1,000 means 1,000 or more. */
  behind: number;
  /** Age of the oldest of them in seconds; 0 if there is none. */
  lagSeconds: number;
  /** Whether it follows the log by itself; if not, it is brought up to date by a backfill. */
  following: boolean;
  /** Messages of this account in the index. */
  messages: number;
  /** Messages among them that have vectors of the present embedder; the others are found by their words. */
  embedded: number;
  /** Bytes of the index, for this account. */
  bytes: number;
  /** Bytes of the texts that it was made of. */
  textBytes: number;
  /** Number of volumes of the index. */
  volumes: number;
  /** The id of the model that makes vectors. */
  model: string;
  /** How long its vectors are. */
  dimensions: number;
};

/** Searches threads by words and meaning. All given filters must match. */
export type SearchThreads = {
  /**
   * The question, in plain words. Quotation marks ask for words that stand one after the other; nothing else
   * is syntax.
   * It has at most 256 KiB.
   */
  query: string;
  /** Only threads of this agent. */
  agentId?: string | null;
  /** Only threads of this project. */
  projectId?: string | null;
  /** Only this thread and its forks. */
  threadId?: ThreadName | null;
  /** Only messages from this moment on. */
  after?: Timestamp | null;
  /** Only messages before this moment. */
  before?: Timestamp | null;
  /** Only messages of this role. Those of users and assistants are indexed, so others find nothing. */
  role?: Role | null;
  /**
   * Only threads whose metadata contain this object: members by name, every element in some element, scalars
   * equal.
   */
  metadata?: Record<string, unknown> | null;
  /** Only threads with this tag, in `metadata.tags` or `env.initial.tags`. */
  tag?: string | null;
  /** Number of threads (default 5, maximum 100). */
  limit?: number | null;
  /** So many messages on either side of a hit; 3 if nothing is said. */
  contextWindow?: number | null;
  /** Also messages that were rolled back, edited or deleted. */
  includeSuperseded?: boolean;
};

/** The two parts of the score of a message. Each is 1 for the best candidate. */
export type SearchWhy = {
  /** How well the words match. */
  keyword: number;
  /** How well the meaning matches. */
  vector: number;
};

/** Sends text of the present step to the readers of a run's stream. It is not logged. */
export type SendDelta = {
  /** The attempt that speaks, as the start told it. */
  attempt?: number;
  /** Text to add to what the step said so far. */
  text: string;
};

/** An event of a stream. Lines that begin with a colon only say that the stream is still there. */
export type ServerEvent = {
  /** Where to resume, as `Last-Event-ID`; absent for what is not logged. */
  id: string | null;
  /** What kind of news, such as `message_appended`. */
  event: string;
  /** The entry, as JSON in one line. */
  data: string;
};

/** Sets a variable of the account. Every thread of the account sees it. */
export type SetAccountEnv = {
  /** The value: text, at most 16 KiB. An empty text is a value. */
  value: string;
  /** Whether the value may be shown. Without it the type stays; new variables are secrets. */
  type?: EnvType | null;
};

/** Gives the present version a name. Setting a name again moves it. */
export type SetCheckpoint = {
  /** The name: 1 to 255 bytes, not blank. */
  name: string;
};

/** Sets a variable of a thread. The threads that work for it see it too. */
export type SetEnv = {
  /** The value: text, at most 16 KiB. An empty text is a value. */
  value: string;
  /** Whether the value may be shown. Without it the type stays; new variables are secrets. */
  type?: EnvType | null;
};

/** Sets the status of a subagent, in free words. */
export type SetStatus = {
  /** The status, in free words. */
  status: string;
};

/** The last group of a thread's uuid: the same identity, shorter. */
export type ShortId = string;

/** The turns of a run whose agent has two sides. */
export type Sides = {
  /** The side whose turn it is. */
  turn: RunSide;
  /** Number of steps of the first side. */
  stepsA: number;
  /** Number of steps of the second side. */
  stepsB: number;
  /** The side that somebody asked to speak next. The executor has not taken it up yet. */
  asked?: RunSide | null;
  /** Whether the turn comes from such a request. The next step uses it up. */
  forced?: boolean;
};

/** A link that signs a browser in, once. */
export type SignIn = {
  /** The address that signs a browser in, once. */
  url: string;
  /** When it expires. */
  expiresAt: Timestamp;
};

/** A skill that was activated on a thread. */
export type Skill = {
  /** The name of the skill. */
  name: string;
  /** The arguments of its activation, a JSON object. */
  arguments?: Record<string, unknown> | null;
};

/** A new thread for an intent of its own. */
export type Spawn = {
  /** The purpose of the new thread. */
  intent: string;
  /** How much of the parent it inherits. */
  inherit: Inherit;
  /** The inherited parts: `messages`, `messages:last=N`, `files:GLOB`, `kv:PREFIX`, `env`, `skills`. */
  inheritScope?: string[] | null;
  /** The agent of the new thread; without it, the same agent. */
  agentId?: string | null;
};

/** A thread that was spawned. */
export type Spawned = {
  /** The id of the new thread. */
  threadId: ThreadId;
  /** The thread it was spawned from. */
  parentId: ThreadId;
};

/** Who speaks in an event. */
export type Speaker = "user" | "assistant";

/** Starts a run: calls that were left open are closed, and queued messages and injections are delivered. */
export type StartRun = {
  /** A message to append, after what was queued. */
  message?: NewMessage | null;
  /** The agent to assign the thread to. Default: its agent; for the runtime, `default` if it has none. */
  agentId?: string | null;
  /**
   * The program that works: the runtime of a server on which the agent is defined, or the caller. Default:
   * runtime. Where
   * no server defines the agent, such a run stays queued.
   */
  executor?: Executor;
  /** Longest time between two steps of a caller, in milliseconds. Default: ten minutes. */
  ttl?: number | null;
  /** Ends a run that is still open, or resumes it before its time is over. */
  takeOver?: boolean;
  /** Goes on with the open run as its next attempt. Its open tool calls stay open. */
  resume?: boolean;
  /**
   * Tokens of the conversation that a caller is given, at most. Default: those of the agent's model where the
   * agent is
   * defined, otherwise 100,000.
   */
  contextTokens?: number | null;
};

/** How a value that both sides changed is resolved. */
export type StateStrategy = "human" | "latest" | "ours" | "theirs";

/** The result of a new status. */
export type StatusSet = {
  /** Whether there was a parent to tell; nothing changed if not. */
  set: boolean;
};

/** A step: a message of the assistant, by its index or its id. */
export type StepName = number | MessageName;

/** Takes one step: appends messages of the executor, then delivers the queue. */
export type StepRun = {
  /** The attempt that steps, as the start told it. A step of an earlier attempt is refused. */
  attempt?: number;
  /** Longest time until the next step, in milliseconds. Default: ten minutes. */
  ttl?: number | null;
  /** Messages to append first. */
  messages?: NewMessage[];
  /**
   * Whether it goes on with the step before, such as with the result of a call. Such a step is not counted.
   */
  continues?: boolean;
  /** Whether queued messages and injections go on waiting. */
  deliversNothing?: boolean;
  /** The model that was asked, what it was given, and what that took. */
  model?: ModelCall | null;
  /** The answers that the run waits for from now on. The answer to each wakes it; then it is resumed. */
  waits?: Wait[];
};

/** Asks the executor of a run to stop. Nothing of what was said so far is lost. */
export type StopRun = {
  /** Ends the run at once, without time for its executor. */
  now?: boolean;
};

/** A subagent, and the thread it works for. */
export type Subagent = {
  /** The thread it works for. */
  parentId: ThreadId;
  /** The thread of the subagent. */
  reference: ThreadId;
  /** The name of the subagent. */
  name: string;
  /** A title for people. */
  title?: string | null;
  /** The task of the subagent. */
  description: string;
  /** Whether the subagent can be resumed after its work. */
  resumable?: boolean | null;
  /** Whether its parent waits for it. */
  blocking?: boolean | null;
  /** A name for the thread. */
  threadName?: string | null;
  /** Shared by the children that one message made. */
  spawnGroupId?: string | null;
  /** When the thread was registered. */
  createdAt: Timestamp;
  /** Its activity, in its own words. */
  status: string;
  /** Whether it reports to its parent by itself. */
  parentCommunication?: ParentCommunication | null;
};

/** The thread of a new subagent, and the files it was given. */
export type SubagentThread = {
  /** The full id of the thread. */
  id: ThreadId;
  /** Its short id: the same identity. */
  shortId: ShortId;
  /** The account that owns it; visitors are not told. */
  accountId?: Account | null;
  /** The version of the thread. */
  v: Version;
  /** When it was made. */
  created: Timestamp;
  /** When it last changed. */
  updated: Timestamp;
  /** Its name for people, or null. */
  title: string | null;
  /** Whether the main list hides it. */
  archived: boolean;
  /** How many messages it shows. */
  messageCount: number;
  /** The least number its next message can have. */
  nextMessageId: number;
  /** When the user last said something, or null. */
  lastUserInteractionAt: Timestamp | null;
  /** The state of its lifecycle. */
  lifecycle: Lifecycle;
  /** Who may read it, apart from its account. */
  visibility: Visibility;
  /** When it was terminated, or null. */
  terminated: Timestamp | null;
  /** Metadata of the user: a JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Text that is not sent yet. */
  draft?: string | null;
  /** Whether the draft is sent by itself. */
  autoSubmitDraft: boolean;
  /** The mode the agent works in. */
  agentMode?: string | null;
  /** A cap for output. */
  maxTokens?: number | null;
  /** The agent it belongs to. */
  agentId?: string | null;
  /** The task it belongs to. */
  taskId?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** The user it belongs to. */
  userId?: string | null;
  /** The purpose of the thread. */
  intent?: string | null;
  /** The status that its agent gave, in free words. */
  status?: string | null;
  /** The workspace it began in. */
  env?: Record<string, unknown> | null;
  /** The thread it was forked from. */
  originThreadId?: ThreadId | null;
  /** The index of the last message it shared at the fork. */
  forkPointIndex?: number | null;
  /** The main thread, for a subagent's thread. */
  mainThreadId?: ThreadId | null;
  /** The thread it was spawned from. */
  parentId?: ThreadId | null;
  /** The skills that are active, in the order they were activated. */
  activatedSkills?: Skill[];
  /** The run that is open. */
  run?: Run | null;
  /** The files it was given, in the order in which they were named, by their paths in that thread. */
  attachments?: Attachment[];
};

/** The built-in summary of a thread. */
export type Summary = {
  /** The text of the summary. */
  summary: string;
};

/** Supplies the variables that a subagent waits for. */
export type SupplyVariables = {
  /**
   * The values by the names of the variables, each at most 16 KiB. They are set together, on the subagent's
   * thread.
   */
  env: Record<string, string>;
};

/** The side that a choice takes. */
export type Take = "ours" | "theirs" | "union";

/** Makes the caller the exclusive writer of a thread, for a time. */
export type TakeWriter = {
  /** How long it lasts, in milliseconds. */
  ttl?: number | null;
  /** Who holds it, in words for others. */
  holder?: string | null;
};

/** Ends the work on a thread for good: nothing is queued or started on it any more. */
export type Terminate = Record<string, never>;

/** A thread. Fields with a default are always present, optional fields only if they are set. */
export type Thread = {
  /** The full id of the thread. */
  id: ThreadId;
  /** Its short id: the same identity. */
  shortId: ShortId;
  /** The account that owns it; visitors are not told. */
  accountId?: Account | null;
  /** The version of the thread. */
  v: Version;
  /** When it was made. */
  created: Timestamp;
  /** When it last changed. */
  updated: Timestamp;
  /** Its name for people, or null. */
  title: string | null;
  /** Whether the main list hides it. */
  archived: boolean;
  /** How many messages it shows. */
  messageCount: number;
  /** The least number its next message can have. */
  nextMessageId: number;
  /** When the user last said something, or null. */
  lastUserInteractionAt: Timestamp | null;
  /** The state of its lifecycle. */
  lifecycle: Lifecycle;
  /** Who may read it, apart from its account. */
  visibility: Visibility;
  /** When it was terminated, or null. */
  terminated: Timestamp | null;
  /** Metadata of the user: a JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Text that is not sent yet. */
  draft?: string | null;
  /** Whether the draft is sent by itself. */
  autoSubmitDraft: boolean;
  /** The mode the agent works in. */
  agentMode?: string | null;
  /** A cap for output. */
  maxTokens?: number | null;
  /** The agent it belongs to. */
  agentId?: string | null;
  /** The task it belongs to. */
  taskId?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** The user it belongs to. */
  userId?: string | null;
  /** The purpose of the thread. */
  intent?: string | null;
  /** The status that its agent gave, in free words. */
  status?: string | null;
  /** The workspace it began in. */
  env?: Record<string, unknown> | null;
  /** The thread it was forked from. */
  originThreadId?: ThreadId | null;
  /** The index of the last message it shared at the fork. */
  forkPointIndex?: number | null;
  /** The main thread, for a subagent's thread. */
  mainThreadId?: ThreadId | null;
  /** The thread it was spawned from. */
  parentId?: ThreadId | null;
  /** The skills that are active, in the order they were activated. */
  activatedSkills?: Skill[];
  /** The run that is open. */
  run?: Run | null;
};

/** Fields of a thread; null clears one, or leaves it empty. */
export type ThreadChanges = {
  /** A title for people. */
  title?: string | null;
  /** Whether the main list hides it. */
  archived?: boolean | null;
  /** The text of a message that is not sent yet. */
  draft?: string | null;
  /** Whether the draft is sent by itself. */
  autoSubmitDraft?: boolean | null;
  /** The mode the agent works in. */
  agentMode?: string | null;
  /** The limit of output tokens. */
  maxTokens?: number | null;
  /** The agent it belongs to. */
  agentId?: string | null;
  /** The task it belongs to. */
  taskId?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** The user it belongs to. */
  userId?: string | null;
  /** The purpose of the thread. */
  intent?: string | null;
  /** A free-form JSON object, replaced whole. */
  metadata?: Record<string, unknown> | null;
  /** The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`. */
  env?: Record<string, unknown> | null;
  /** Who may read it: its account alone, or everyone. */
  visibility?: Visibility | null;
};

/** The identity of a thread: `T-` and a uuid. */
export type ThreadId = string;

/** A thread, by its full id or by its short one. */
export type ThreadName = string;

/** A thread in a list. Fields with a default are always present, optional fields only if they are set. */
export type ThreadSummary = {
  /** The full id of the thread. */
  id: ThreadId;
  /** Its short id: the same identity. */
  shortId: ShortId;
  /** The account that owns it. */
  accountId: Account;
  /** The version of the thread. */
  v: Version;
  /** When it was made. */
  created: Timestamp;
  /** When it last changed. */
  updated: Timestamp;
  /** Its name for people, or null. */
  title: string | null;
  /** Whether the main list hides it. */
  archived: boolean;
  /** How many messages it shows. */
  messageCount: number;
  /** The least number its next message can have. */
  nextMessageId: number;
  /** When the user last said something, or null. */
  lastUserInteractionAt: Timestamp | null;
  /** The state of its lifecycle. */
  lifecycle: Lifecycle;
  /** Who may read it, apart from its account. */
  visibility: Visibility;
  /** When it was terminated, or null. */
  terminated: Timestamp | null;
  /** Metadata of the user: a JSON object. */
  metadata?: Record<string, unknown> | null;
  /** Text that is not sent yet. */
  draft?: string | null;
  /** Whether the draft is sent by itself. */
  autoSubmitDraft: boolean;
  /** The mode the agent works in. */
  agentMode?: string | null;
  /** A cap for output. */
  maxTokens?: number | null;
  /** The agent it belongs to. */
  agentId?: string | null;
  /** The task it belongs to. */
  taskId?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** The project's name, where projects are kept. */
  projectName?: string | null;
  /** The project's icon, where projects are kept. */
  iconName?: string | null;
  /** The project's sandbox, where projects are kept. */
  sandbox?: Sandbox | null;
  /** The user it belongs to. */
  userId?: string | null;
  /** The purpose of the thread. */
  intent?: string | null;
  /** The status that its agent gave, in free words. */
  status?: string | null;
  /** The workspace it began in. */
  env?: Record<string, unknown> | null;
  /** The thread it was forked from. */
  originThreadId?: ThreadId | null;
  /** The index of the last message it shared at the fork. */
  forkPointIndex?: number | null;
  /** The main thread, for a subagent's thread. */
  mainThreadId?: ThreadId | null;
  /** The thread it was spawned from. */
  parentId?: ThreadId | null;
  /** The skills that are active, in the order they were activated. */
  activatedSkills?: Skill[];
  /** The run that is open. */
  run?: Run | null;
  /** When the user last said something; when the thread was born, if never. */
  userLastInteractedAt: Timestamp;
  /** The changes that the thread made to its files. */
  diffStats: DiffStats;
  /** The relations in which it is the child. */
  parentRelationships: Relationship[];
};

/** A ticket for one opening of one stream. */
export type Ticket = {
  /** To be sent as `?ticket=`. */
  ticket: string;
  /** The path it opens. */
  path: string;
  /** When it expires. */
  expiresAt: Timestamp;
};

/** A time in RFC 3339; answers are in UTC, with microseconds. */
export type Timestamp = string;

/** A file that came with the result of a tool. */
export type ToolFile = {
  /** Its path in the thread. */
  path: string;
  /** Its name. */
  name: string;
  /** Its media type. */
  mimeType: string;
  /** Its size in bytes. */
  size: number;
};

/** The result of a tool. */
export type ToolTold = {
  /** How it ended. */
  status: "success" | "error";
  /** What it gives, if it succeeded. A result over 256 KiB is a file: then this names the file. */
  result?: unknown;
  /** Why it failed. */
  error?: string | null;
  /** Files of the thread that came with the result. */
  attachments?: ToolFile[];
};

/** Requests an approval, or delegates authority to agents. */
export type Transfer = {
  /** Whether it asks a human for authority, or gives authority to agents. */
  direction: Direction;
  /** The capabilities it is about. */
  scope: Capability[];
  /** For a delegation, the agent, by its name. Default: every agent. */
  to?: string | null;
  /** The reason, for people to read. */
  reason?: string | null;
  /**
   * How long to wait for an answer, or how long a delegation holds: an ISO 8601 duration such as `PT30S` or
   * `P1D`.
   */
  timeout?: string | null;
  /** The outcome if the time runs out without an answer. Default: `block`. */
  fallback?: Fallback | null;
  /** Whether it can be revoked later. Default: yes. */
  canRevoke?: boolean | null;
};

/** The result of a transfer: an approval or a delegation, as its direction says. */
export type Transferred = {
  /** The approval that waits for an answer. */
  approvalId?: Uuid | null;
  /** The delegation that holds. */
  delegationId?: Uuid | null;
};

/** From where on to drop messages. */
export type Truncate = {
  /** From this index on. */
  fromIndex: number;
} | {
  /** From this message on. */
  fromMessageId: MessageName;
};

/** Shows an archived thread in the main list again. */
export type Unarchive = Record<string, never>;

/** How soon an injection is delivered. */
export type Urgency = "immediate" | "next_step";

/** Tokens and cost. */
export type Usage = {
  /** Tokens that were sent, cached ones included. */
  inputTokens: number;
  /** Tokens that were made. */
  outputTokens: number;
  /** Tokens that the provider read from its cache. */
  cacheReadTokens?: number;
  /** Tokens that the provider wrote to its cache. */
  cacheWriteTokens?: number;
  /** The cost, in millionths of the currency of the prices. */
  costMicros?: number;
};

/** A uuid, in hex digits. */
export type Uuid = string;

/** How the result of a merge is validated. */
export type Validation = "none" | "compile" | "test";

/** The outcome of a validation. */
export type ValidationResult = {
  /** The validation that ran. */
  validation: Validation;
  /** Whether the result passed. */
  passed: boolean;
  /** The exit code of the command; none if it was stopped. */
  exitCode?: number | null;
  /** The end of the command's output. */
  output: string;
  /** Whether the command ran into its time limit. */
  timedOut?: boolean;
};

/** The value under a key. A missing key has the value null and version 0. */
export type Value = {
  /** The key of the value. */
  key: ValueKey;
  /** The JSON, exactly as it was set. */
  value: Json;
  /** The version of the thread with which it was set: what `If-Match` compares. */
  version: Version;
  /** When it was set. */
  updatedAt?: Timestamp | null;
};

/** The key of a value. */
export type ValueKey = string;

/** The version of a thread: the number of its last entry. */
export type Version = number;

/** Who may read a thread. */
export type Visibility = "private" | "public";

/** An answer that a run waits for. */
export type Wait = {
  for: "approval";
  /** The id of the approval. */
  approvalId: Uuid;
} | {
  for: "child";
  /** The thread of the subagent. */
  threadId: ThreadId;
} | {
  for: "human";
};

/** What the list of files answers with. */
export type Whole = PageOfFileRecord | Directory | FileStats | Found | Grepped;

/** The lease of a thread's exclusive writer: `{token?, holder, expiresAt}`. */
export type Writer = {
  /** The token that writes under the lease carry; only the holder sees it. */
  token?: string | null;
  /** Who holds it, in words for people. */
  holder: string;
  /** When it ends unless it is renewed. */
  expiresAt: Timestamp;
};

