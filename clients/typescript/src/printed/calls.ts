// Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print

import type * as t from "./types.js";
import type { Facts, Options, Paged, Way } from "../way.js";

/** What a client has to know of each call. */
export const facts = {
  createThread: { id: "createThread", method: "POST", path: "/v1/threads", query: [], body: true, repeats: false, honours: ["idempotencyKey"] },
  listThreads: { id: "listThreads", method: "GET", path: "/v1/threads", query: ["idPrefix", "archived", "agentId", "projectId", "lifecycle", "visibility", "metadata", "tag", "parentId", "mainThreadId", "createdAfter", "createdBefore", "updatedAfter", "updatedBefore", "title", "sort", "limit", "cursor", "offset", "total"], body: false, repeats: true, honours: [] },
  getThread: { id: "getThread", method: "GET", path: "/v1/threads/{thread}", query: [], body: false, repeats: true, honours: [] },
  updateThread: { id: "updateThread", method: "PATCH", path: "/v1/threads/{thread}", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  deleteThread: { id: "deleteThread", method: "DELETE", path: "/v1/threads/{thread}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer"] },
  changeOwner: { id: "changeOwner", method: "PUT", path: "/v1/threads/{thread}/owner", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listMessages: { id: "listMessages", method: "GET", path: "/v1/threads/{thread}/messages", query: ["limit", "cursor", "offset", "around", "order", "role", "maxDepth", "includeSilent", "asOf", "from", "total"], body: false, repeats: true, honours: [] },
  appendMessages: { id: "appendMessages", method: "POST", path: "/v1/threads/{thread}/messages", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getMessage: { id: "getMessage", method: "GET", path: "/v1/threads/{thread}/messages/{message}", query: [], body: false, repeats: true, honours: [] },
  editMessage: { id: "editMessage", method: "PATCH", path: "/v1/threads/{thread}/messages/{message}", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  deleteMessage: { id: "deleteMessage", method: "DELETE", path: "/v1/threads/{thread}/messages/{message}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getHistory: { id: "getHistory", method: "GET", path: "/v1/threads/{thread}/history", query: ["after", "limit"], body: false, repeats: true, honours: [] },
  truncateThread: { id: "truncateThread", method: "POST", path: "/v1/threads/{thread}/truncate", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getModelMessages: { id: "getModelMessages", method: "GET", path: "/v1/threads/{thread}/model-messages", query: ["asOf", "contextTokens"], body: false, repeats: true, honours: [] },
  listEvents: { id: "listEvents", method: "GET", path: "/v1/threads/{thread}/events", query: ["after", "limit"], body: false, repeats: true, honours: [] },
  appendEvent: { id: "appendEvent", method: "POST", path: "/v1/threads/{thread}/events", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  forkThread: { id: "forkThread", method: "POST", path: "/v1/threads/{thread}/fork", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  handOff: { id: "handOff", method: "POST", path: "/v1/threads/{thread}/handoff", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  mentionThread: { id: "mentionThread", method: "POST", path: "/v1/threads/{thread}/mention", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  rollBack: { id: "rollBack", method: "POST", path: "/v1/threads/{thread}/rollback", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  redoRollback: { id: "redoRollback", method: "POST", path: "/v1/threads/{thread}/redo", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  setCheckpoint: { id: "setCheckpoint", method: "POST", path: "/v1/threads/{thread}/checkpoint", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listCheckpoints: { id: "listCheckpoints", method: "GET", path: "/v1/threads/{thread}/checkpoints", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  getFamily: { id: "getFamily", method: "GET", path: "/v1/threads/{thread}/tree", query: ["depth", "breadth", "limit", "cursor"], body: false, repeats: true, honours: [] },
  listRelationships: { id: "listRelationships", method: "GET", path: "/v1/threads/{thread}/relationships", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  getSummary: { id: "getSummary", method: "GET", path: "/v1/threads/{thread}/summary", query: [], body: false, repeats: true, honours: [] },
  getWriter: { id: "getWriter", method: "GET", path: "/v1/threads/{thread}/writer", query: [], body: false, repeats: true, honours: [] },
  takeWriter: { id: "takeWriter", method: "POST", path: "/v1/threads/{thread}/writer", query: [], body: true, repeats: false, honours: [] },
  renewWriter: { id: "renewWriter", method: "PUT", path: "/v1/threads/{thread}/writer", query: [], body: true, repeats: true, honours: ["writer"] },
  releaseWriter: { id: "releaseWriter", method: "DELETE", path: "/v1/threads/{thread}/writer", query: [], body: false, repeats: true, honours: ["writer"] },
  transfer: { id: "transfer", method: "POST", path: "/v1/threads/{thread}/transfer", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listApprovals: { id: "listApprovals", method: "GET", path: "/v1/approvals", query: ["state", "threadId", "limit", "cursor"], body: false, repeats: true, honours: [] },
  getApproval: { id: "getApproval", method: "GET", path: "/v1/approvals/{approval}", query: [], body: false, repeats: true, honours: [] },
  approve: { id: "approve", method: "POST", path: "/v1/approvals/{approval}/approve", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  deny: { id: "deny", method: "POST", path: "/v1/approvals/{approval}/deny", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  revokeApproval: { id: "revokeApproval", method: "POST", path: "/v1/approvals/{approval}/revoke", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listDelegations: { id: "listDelegations", method: "GET", path: "/v1/threads/{thread}/delegations", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  revokeDelegation: { id: "revokeDelegation", method: "POST", path: "/v1/delegations/{delegation}/revoke", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer"] },
  merge: { id: "merge", method: "POST", path: "/v1/threads/{thread}/merge", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listMerges: { id: "listMerges", method: "GET", path: "/v1/threads/{thread}/merges", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  getMerge: { id: "getMerge", method: "GET", path: "/v1/threads/{thread}/merges/{merge}", query: [], body: false, repeats: true, honours: [] },
  referThread: { id: "referThread", method: "POST", path: "/v1/threads/{thread}/reference", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listReferences: { id: "listReferences", method: "GET", path: "/v1/threads/{thread}/references", query: [], body: false, repeats: true, honours: [] },
  getReference: { id: "getReference", method: "GET", path: "/v1/references/{reference}", query: [], body: false, repeats: true, honours: [] },
  observeThread: { id: "observeThread", method: "POST", path: "/v1/threads/{thread}/observe", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listObservers: { id: "listObservers", method: "GET", path: "/v1/threads/{thread}/observers", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  getObserver: { id: "getObserver", method: "GET", path: "/v1/threads/{thread}/observers/{observer}", query: [], body: false, repeats: true, honours: [] },
  unobserveThread: { id: "unobserveThread", method: "DELETE", path: "/v1/threads/{thread}/observers/{observer}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listReferredMessages: { id: "listReferredMessages", method: "GET", path: "/v1/references/{reference}/messages", query: ["limit", "cursor", "offset", "around", "order", "role", "maxDepth", "includeSilent", "asOf", "from", "total"], body: false, repeats: true, honours: [] },
  listReferredFiles: { id: "listReferredFiles", method: "GET", path: "/v1/references/{reference}/files", query: ["below", "limit", "cursor"], body: false, repeats: true, honours: [] },
  listReferredValues: { id: "listReferredValues", method: "GET", path: "/v1/references/{reference}/kv", query: ["prefix", "limit", "cursor"], body: false, repeats: true, honours: [] },
  getReferredValue: { id: "getReferredValue", method: "GET", path: "/v1/references/{reference}/kv/{valueKey}", query: [], body: false, repeats: true, honours: [] },
  listQueue: { id: "listQueue", method: "GET", path: "/v1/threads/{thread}/queue", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  queueMessage: { id: "queueMessage", method: "POST", path: "/v1/threads/{thread}/queue", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  editQueued: { id: "editQueued", method: "PATCH", path: "/v1/threads/{thread}/queue/{item}", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  removeQueued: { id: "removeQueued", method: "DELETE", path: "/v1/threads/{thread}/queue/{item}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  queueTool: { id: "queueTool", method: "POST", path: "/v1/threads/{thread}/tools/{tool}/queue", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listQueuedTools: { id: "listQueuedTools", method: "GET", path: "/v1/threads/{thread}/tools/queue", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  getContext: { id: "getContext", method: "GET", path: "/v1/threads/{thread}/context", query: ["asOf", "runId"], body: false, repeats: true, honours: [] },
  terminateThread: { id: "terminateThread", method: "POST", path: "/v1/threads/{thread}/terminate", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  archiveThread: { id: "archiveThread", method: "POST", path: "/v1/threads/{thread}/archive", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  unarchiveThread: { id: "unarchiveThread", method: "POST", path: "/v1/threads/{thread}/unarchive", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  assignThread: { id: "assignThread", method: "POST", path: "/v1/threads/{thread}/assign", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  activateSkill: { id: "activateSkill", method: "POST", path: "/v1/threads/{thread}/skills", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  scheduleEffect: { id: "scheduleEffect", method: "POST", path: "/v1/threads/{thread}/effects", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listEffects: { id: "listEffects", method: "GET", path: "/v1/threads/{thread}/effects", query: ["name", "limit", "cursor"], body: false, repeats: true, honours: [] },
  removeEffect: { id: "removeEffect", method: "DELETE", path: "/v1/threads/{thread}/effects/{effect}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  emitEvent: { id: "emitEvent", method: "POST", path: "/v1/threads/{thread}/emit", query: [], body: true, repeats: false, honours: [] },
  listSubagents: { id: "listSubagents", method: "GET", path: "/v1/threads/{thread}/children", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  createSubagent: { id: "createSubagent", method: "POST", path: "/v1/threads/{thread}/children", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getParent: { id: "getParent", method: "GET", path: "/v1/threads/{thread}/parent", query: [], body: false, repeats: true, honours: [] },
  notifyParent: { id: "notifyParent", method: "POST", path: "/v1/threads/{thread}/notify-parent", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  setStatus: { id: "setStatus", method: "POST", path: "/v1/threads/{thread}/status", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  invokeTool: { id: "invokeTool", method: "POST", path: "/v1/threads/{thread}/tools/{tool}/invoke", query: [], body: true, repeats: false, honours: [] },
  startRun: { id: "startRun", method: "POST", path: "/v1/threads/{thread}/runs", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listThreadRuns: { id: "listThreadRuns", method: "GET", path: "/v1/threads/{thread}/runs", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  listRuns: { id: "listRuns", method: "GET", path: "/v1/runs", query: ["status", "limit", "cursor"], body: false, repeats: true, honours: [] },
  getRun: { id: "getRun", method: "GET", path: "/v1/runs/{run}", query: [], body: false, repeats: true, honours: [] },
  stepRun: { id: "stepRun", method: "POST", path: "/v1/runs/{run}/step", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  sendDelta: { id: "sendDelta", method: "POST", path: "/v1/runs/{run}/delta", query: [], body: true, repeats: false, honours: [] },
  endRun: { id: "endRun", method: "POST", path: "/v1/runs/{run}/end", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  stopRun: { id: "stopRun", method: "POST", path: "/v1/runs/{run}/stop", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getExecution: { id: "getExecution", method: "GET", path: "/v1/threads/{thread}/execution", query: [], body: false, repeats: true, honours: [] },
  forceTurn: { id: "forceTurn", method: "POST", path: "/v1/runs/{run}/force-turn", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  spawnThread: { id: "spawnThread", method: "POST", path: "/v1/threads/{thread}/spawn", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  changeLifecycle: { id: "changeLifecycle", method: "POST", path: "/v1/threads/{thread}/lifecycle", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  inject: { id: "inject", method: "POST", path: "/v1/threads/{thread}/inject", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listInjections: { id: "listInjections", method: "GET", path: "/v1/threads/{thread}/injections", query: ["state", "limit", "cursor"], body: false, repeats: true, honours: [] },
  acknowledgeInjection: { id: "acknowledgeInjection", method: "POST", path: "/v1/threads/{thread}/injections/{injection}/ack", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  decide: { id: "decide", method: "POST", path: "/v1/threads/{thread}/decide", query: [], body: true, repeats: false, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  listDecisions: { id: "listDecisions", method: "GET", path: "/v1/threads/{thread}/decisions", query: ["asOf", "limit", "cursor"], body: false, repeats: true, honours: [] },
  listValues: { id: "listValues", method: "GET", path: "/v1/threads/{thread}/kv", query: ["prefix", "limit", "cursor", "asOf"], body: false, repeats: true, honours: [] },
  getValue: { id: "getValue", method: "GET", path: "/v1/threads/{thread}/kv/{valueKey}", query: ["asOf"], body: false, repeats: true, honours: [] },
  setValue: { id: "setValue", method: "PUT", path: "/v1/threads/{thread}/kv/{valueKey}", query: [], body: true, repeats: true, honours: ["expectedVersion", "ifAbsent", "writer", "idempotencyKey"] },
  deleteValue: { id: "deleteValue", method: "DELETE", path: "/v1/threads/{thread}/kv/{valueKey}", query: [], body: false, repeats: true, honours: ["expectedVersion", "ifAbsent", "writer", "idempotencyKey"] },
  listEnv: { id: "listEnv", method: "GET", path: "/v1/threads/{thread}/env", query: [], body: false, repeats: true, honours: [] },
  getEnv: { id: "getEnv", method: "GET", path: "/v1/threads/{thread}/env/{name}", query: [], body: false, repeats: true, honours: [] },
  setEnv: { id: "setEnv", method: "PUT", path: "/v1/threads/{thread}/env/{name}", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer"] },
  deleteEnv: { id: "deleteEnv", method: "DELETE", path: "/v1/threads/{thread}/env/{name}", query: [], body: false, repeats: true, honours: ["expectedVersion", "writer", "idempotencyKey"] },
  getVariables: { id: "getVariables", method: "GET", path: "/v1/threads/{thread}/variables/{request}", query: [], body: false, repeats: true, honours: [] },
  supplyVariables: { id: "supplyVariables", method: "POST", path: "/v1/threads/{thread}/variables/{request}", query: [], body: true, repeats: true, honours: ["expectedVersion", "writer"] },
  listAccountEnv: { id: "listAccountEnv", method: "GET", path: "/v1/env", query: [], body: false, repeats: true, honours: [] },
  getAccountEnv: { id: "getAccountEnv", method: "GET", path: "/v1/env/{name}", query: [], body: false, repeats: true, honours: [] },
  setAccountEnv: { id: "setAccountEnv", method: "PUT", path: "/v1/env/{name}", query: [], body: true, repeats: true, honours: [] },
  deleteAccountEnv: { id: "deleteAccountEnv", method: "DELETE", path: "/v1/env/{name}", query: [], body: false, repeats: true, honours: [] },
  listInstanceEnv: { id: "listInstanceEnv", method: "GET", path: "/v1/admin/env", query: [], body: false, repeats: true, honours: [] },
  search: { id: "search", method: "POST", path: "/v1/search", query: [], body: true, repeats: true, honours: [] },
  backfillSearch: { id: "backfillSearch", method: "POST", path: "/v1/search/backfill", query: [], body: true, repeats: true, honours: [] },
  getSearchStatus: { id: "getSearchStatus", method: "GET", path: "/v1/search/status", query: [], body: false, repeats: true, honours: [] },
  listProjects: { id: "listProjects", method: "GET", path: "/v1/projects", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  createProject: { id: "createProject", method: "POST", path: "/v1/projects", query: [], body: true, repeats: false, honours: [] },
  getProject: { id: "getProject", method: "GET", path: "/v1/projects/{project}", query: [], body: false, repeats: true, honours: [] },
  putProject: { id: "putProject", method: "PUT", path: "/v1/projects/{project}", query: [], body: true, repeats: true, honours: [] },
  updateProject: { id: "updateProject", method: "PATCH", path: "/v1/projects/{project}", query: [], body: true, repeats: true, honours: [] },
  deleteProject: { id: "deleteProject", method: "DELETE", path: "/v1/projects/{project}", query: [], body: false, repeats: true, honours: [] },
  listMemories: { id: "listMemories", method: "GET", path: "/v1/memories", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  createMemory: { id: "createMemory", method: "POST", path: "/v1/memories", query: [], body: true, repeats: true, honours: [] },
  listProjectMemories: { id: "listProjectMemories", method: "GET", path: "/v1/projects/{project}/memories", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  createProjectMemory: { id: "createProjectMemory", method: "POST", path: "/v1/projects/{project}/memories", query: [], body: true, repeats: true, honours: [] },
  getMemory: { id: "getMemory", method: "GET", path: "/v1/memories/{memory}", query: [], body: false, repeats: true, honours: [] },
  updateMemory: { id: "updateMemory", method: "PATCH", path: "/v1/memories/{memory}", query: [], body: true, repeats: true, honours: [] },
  deleteMemory: { id: "deleteMemory", method: "DELETE", path: "/v1/memories/{memory}", query: [], body: false, repeats: true, honours: [] },
  searchMemories: { id: "searchMemories", method: "POST", path: "/v1/memories/search", query: [], body: true, repeats: true, honours: [] },
  listKeys: { id: "listKeys", method: "GET", path: "/v1/keys", query: ["limit", "cursor"], body: false, repeats: true, honours: [] },
  createKey: { id: "createKey", method: "POST", path: "/v1/keys", query: [], body: true, repeats: false, honours: [] },
  revokeKey: { id: "revokeKey", method: "DELETE", path: "/v1/keys/{key}", query: [], body: false, repeats: true, honours: [] },
  createTicket: { id: "createTicket", method: "POST", path: "/v1/tickets", query: [], body: true, repeats: false, honours: [] },
  getMe: { id: "getMe", method: "GET", path: "/v1/me", query: [], body: false, repeats: true, honours: [] },
  collectGarbage: { id: "collectGarbage", method: "POST", path: "/v1/admin/gc", query: [], body: true, repeats: true, honours: [] },
  runDoctor: { id: "runDoctor", method: "POST", path: "/v1/admin/doctor", query: [], body: true, repeats: true, honours: [] },
  adoptEffects: { id: "adoptEffects", method: "POST", path: "/v1/admin/effects/adopt", query: [], body: true, repeats: true, honours: [] },
  runCode: { id: "runCode", method: "POST", path: "/v1/threads/{thread}/code", query: [], body: true, repeats: false, honours: [] },
  terminateCode: { id: "terminateCode", method: "DELETE", path: "/v1/threads/{thread}/code/{codeRun}", query: [], body: false, repeats: false, honours: [] },
  listDefinitions: { id: "listDefinitions", method: "GET", path: "/v1/definitions", query: [], body: false, repeats: true, honours: [] },
  getDefinition: { id: "getDefinition", method: "GET", path: "/v1/definitions/{kind}/{definition}", query: [], body: false, repeats: true, honours: [] },
  reloadDefinitions: { id: "reloadDefinitions", method: "POST", path: "/v1/definitions/reload", query: [], body: false, repeats: false, honours: [] },
} as const satisfies Record<string, Facts>;

/** The calls of `threads`. */
export class ThreadsCalls {
  constructor(protected readonly way: Way) {}

  /** Makes a thread, with its first messages if there are any. */
  create(params: t.NewThread = {}, options?: Options<"idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.createThread, {  }, params, options);
  }

  /** Lists the account's threads, by any filter. */
  list(params: { /** Threads whose id begins with this, in either spelling. Only `limit` may accompany it. */ idPrefix?: string; /** Whether archived threads are listed. Default: false. */ archived?: "false" | "true" | "any"; /** Threads of this agent. */ agentId?: string; /** Threads of this project. */ projectId?: string; /** Threads in this state of their lifecycle. */ lifecycle?: t.Lifecycle; /** Private or public threads. */ visibility?: t.Visibility; /** Threads whose metadata contain this JSON object. */ metadata?: string; /** Threads with this tag, in `metadata.tags` or `env.initial.tags`. */ tag?: string; /** Threads spawned from this thread. */ parentId?: t.ThreadName; /** Threads of the subagents of this thread. */ mainThreadId?: t.ThreadName; /** Threads created after this time. */ createdAfter?: t.Timestamp; /** Threads created before this time. */ createdBefore?: t.Timestamp; /** Threads changed after this time. */ updatedAfter?: t.Timestamp; /** Threads changed before this time. */ updatedBefore?: t.Timestamp; /** Threads whose title contains this text, without regard to case. */ title?: string; /** The newest first, by their last change or by their creation. Default: updated. */ sort?: "updated" | "created"; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string; /** Number of threads to skip; the answer then has a total. It excludes a cursor. */ offset?: number; /** Whether to count all of them. Counting stops after 10,000 threads that have to be looked at, or 200,000 that an
index counts; `totalIsExact` is false then. */ total?: boolean } = {}, options?: Options<never>): Paged<t.ThreadSummary> {
    return this.way.pages(facts.listThreads, {  }, params, options);
  }

  /** Shows a thread, without its messages. */
  get(thread: string, options?: Options<never>): Promise<t.Thread> {
    return this.way.call(facts.getThread, { thread }, undefined, options);
  }

  /** Replaces fields of a thread; null clears one. */
  update(thread: string, params: t.ThreadChanges = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.updateThread, { thread }, params, options);
  }

  /** Deletes a thread and the threads of its subagents, for good; its id stays refused. */
  delete(thread: string, options?: Options<"expectedVersion" | "writer">): Promise<t.Deleted> {
    return this.way.call(facts.deleteThread, { thread }, undefined, options);
  }

  /** Gives a thread to another account, with the threads of its subagents. */
  changeOwner(thread: string, params: t.ChangeOwner, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.changeOwner, { thread }, params, options);
  }

  /** Lists the messages of a thread, now or as it was at a version. */
  listMessages(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string; /** Number of messages to skip. It excludes a cursor. */ offset?: number; /** The page around this message, the oldest first. It excludes a cursor, an offset, a falling order and filters. */ around?: t.MessageName; /** The oldest first, or the newest. Default: asc. */ order?: "asc" | "desc"; /** Messages of this role. */ role?: t.Role; /** Messages at most this far below the conversation. Default: 0. */ maxDepth?: number; /** Whether silent messages are included. */ includeSilent?: boolean; /** As the thread was at this version. */ asOf?: t.Version; /** A thread of the reader, which mentions this one by reading it. It needs a key that may write. */ from?: t.ThreadName; /** Whether to tell how many messages pass the filters. Default: true, unless a role is named without an offset. */ total?: boolean } = {}, options?: Options<never>): Paged<t.Message> {
    return this.way.pages(facts.listMessages, { thread }, params, options);
  }

  /**
   * Appends a message, or several in one commit. `position` inserts a single one before another, and
   * `effects` are scheduled in the same commit.
   */
  appendMessages(thread: string, params: t.NewMessages, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Appended> {
    return this.way.call(facts.appendMessages, { thread }, params, options);
  }

  /** Shows a message. */
  getMessage(thread: string, message: string, options?: Options<never>): Promise<t.Message> {
    return this.way.call(facts.getMessage, { thread, message }, undefined, options);
  }

  /** Gives a message new content, new metadata, or both. */
  editMessage(thread: string, message: string, params: t.EditMessage, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Message> {
    return this.way.call(facts.editMessage, { thread, message }, params, options);
  }

  /** Removes a message from the conversation; the history keeps it. */
  deleteMessage(thread: string, message: string, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.deleteMessage, { thread, message }, undefined, options);
  }

  /** Lists the entries of the log. */
  getHistory(thread: string, params: { /** The entries after this version. */ after?: t.Version; /** Number of items in a page. */ limit?: number } = {}, options?: Options<never>): Promise<t.PageOfHistoryEntry> {
    return this.way.call(facts.getHistory, { thread }, params, options);
  }

  /** Drops all messages from an index or a message on; `rollback` with `undo` brings them back. */
  truncate(thread: string, params: t.Truncate, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.truncateThread, { thread }, params, options);
  }

  /**
   * Shows the conversation as input for a model: the newest messages that fit, after a summary of those
   * before them. Every tool call has one result.
   */
  getModelMessages(thread: string, params: { /** As the thread was at this version. */ asOf?: t.Version; /** Tokens of the messages, at most. Default: those of the agent's model where the agent is defined, otherwise 100,000. */ contextTokens?: number } = {}, options?: Options<never>): Promise<t.ModelMessage[]> {
    return this.way.call(facts.getModelMessages, { thread }, params, options);
  }

  /** Lists messages and other events in the order of the log. */
  listEvents(thread: string, params: { /** The events after this version. */ after?: t.Version; /** Number of items in a page. */ limit?: number } = {}, options?: Options<never>): Promise<t.PageOfLoggedEvent> {
    return this.way.call(facts.listEvents, { thread }, params, options);
  }

  /** Logs an event: a message, a tool call, a fragment of an answer, or a result. */
  appendEvent(thread: string, params: t.NewEvent, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Logged> {
    return this.way.call(facts.appendEvent, { thread }, params, options);
  }

  /** Forks a thread: the new one shares its history up to a point. */
  fork(thread: string, params: t.Fork = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.forkThread, { thread }, params, options);
  }

  /** Hands off to a new thread that begins with a summary of this one. */
  handOff(thread: string, params: t.Handoff, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.handOff, { thread }, params, options);
  }

  /** Records that a thread mentions another one. */
  mention(thread: string, params: t.Mention, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Relationship> {
    return this.way.call(facts.mentionThread, { thread }, params, options);
  }

  /**
   * Rolls back to a checkpoint, a step, a time or a version, or one file only; or undoes the last rollback.
   */
  rollBack(thread: string, params: t.Rollback, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.rollBack, { thread }, params, options);
  }

  /** Redoes what the last undo undid, if nothing else was written since. */
  redoRollback(thread: string, params: t.Redo = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.redoRollback, { thread }, params, options);
  }

  /** Gives the present version a name. */
  setCheckpoint(thread: string, params: t.SetCheckpoint, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Checkpoint> {
    return this.way.call(facts.setCheckpoint, { thread }, params, options);
  }

  /** Lists the checkpoints of a thread. */
  listCheckpoints(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Checkpoint> {
    return this.way.pages(facts.listCheckpoints, { thread }, params, options);
  }

  /** Shows a thread with all it is related to, directly or not, the nearest first. */
  getFamily(thread: string, params: { /** How many relations away from the thread a thread may be. Without it, any number. */ depth?: number; /** How many relatives of each thread are followed, the oldest relations first. Without it, all. */ breadth?: number; /** Number of threads in a page; 200 if not given. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Promise<t.Family> {
    return this.way.call(facts.getFamily, { thread }, params, options);
  }

  /** Lists the relations of a thread. */
  listRelationships(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Relationship> {
    return this.way.pages(facts.listRelationships, { thread }, params, options);
  }

  /** Shows the built-in summary of a thread. */
  getSummary(thread: string, options?: Options<never>): Promise<t.Summary> {
    return this.way.call(facts.getSummary, { thread }, undefined, options);
  }

  /** Shows who is the exclusive writer of a thread. */
  getWriter(thread: string, options?: Options<never>): Promise<t.Writer | null> {
    return this.way.call(facts.getWriter, { thread }, undefined, options);
  }

  /** Makes the caller the exclusive writer of a thread, for a time. */
  takeWriter(thread: string, params: t.TakeWriter = {}, options?: Options<never>): Promise<t.Writer> {
    return this.way.call(facts.takeWriter, { thread }, params, options);
  }

  /** Renews a lease. */
  renewWriter(thread: string, params: t.RenewWriter = {}, options?: Options<"writer">): Promise<t.Writer> {
    return this.way.call(facts.renewWriter, { thread }, params, options);
  }

  /** Releases a lease. */
  releaseWriter(thread: string, options?: Options<"writer">): Promise<t.Released> {
    return this.way.call(facts.releaseWriter, { thread }, undefined, options);
  }

  /** Requests an approval, or delegates authority to agents. */
  transfer(thread: string, params: t.Transfer, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Transferred> {
    return this.way.call(facts.transfer, { thread }, params, options);
  }

  /** Lists the delegations of a thread: what agents may do without asking. */
  listDelegations(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Delegation> {
    return this.way.pages(facts.listDelegations, { thread }, params, options);
  }

  /** Merges other threads into a thread, in one commit or not at all. */
  merge(thread: string, params: t.Merge, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.MergeTold> {
    return this.way.call(facts.merge, { thread }, params, options);
  }

  /** Lists the merges into a thread, including those that changed nothing. */
  listMerges(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.MergeTold> {
    return this.way.pages(facts.listMerges, { thread }, params, options);
  }

  /** Shows a merge and its state. */
  getMerge(thread: string, merge: string, options?: Options<never>): Promise<t.MergeTold> {
    return this.way.call(facts.getMerge, { thread, merge }, undefined, options);
  }

  /** Makes a reference to another thread: to read it as it is now, or to follow it. */
  refer(thread: string, params: t.NewReference, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Reference> {
    return this.way.call(facts.referThread, { thread }, params, options);
  }

  /** Lists the references of a thread, and the references to it. */
  listReferences(thread: string, options?: Options<never>): Promise<t.References> {
    return this.way.call(facts.listReferences, { thread }, undefined, options);
  }

  /** Observes another thread: its events go to this thread or to a webhook. */
  observe(thread: string, params: t.NewObserver, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Observer> {
    return this.way.call(facts.observeThread, { thread }, params, options);
  }

  /** Lists the threads that a thread observes. */
  listObservers(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Observer> {
    return this.way.pages(facts.listObservers, { thread }, params, options);
  }

  /** Shows an observer: the thread it observes, and where its events go. */
  getObserver(thread: string, observer: string, options?: Options<never>): Promise<t.Observer> {
    return this.way.call(facts.getObserver, { thread, observer }, undefined, options);
  }

  /** Stops observing a thread. */
  unobserve(thread: string, observer: string, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.unobserveThread, { thread, observer }, undefined, options);
  }

  /** Lists the queued messages. */
  listQueue(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Queued> {
    return this.way.pages(facts.listQueue, { thread }, params, options);
  }

  /** Queues a message; the next start or step of a run delivers it. */
  queueMessage(thread: string, params: t.NewMessage, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Queued> {
    return this.way.call(facts.queueMessage, { thread }, params, options);
  }

  /** Edits a queued message. */
  editQueued(thread: string, item: string, params: t.EditMessage, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Queued> {
    return this.way.call(facts.editQueued, { thread, item }, params, options);
  }

  /** Removes a message from the queue. */
  removeQueued(thread: string, item: string, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.removeQueued, { thread, item }, undefined, options);
  }

  /** Queues a tool for the run of a thread; it is carried out with the authority of the caller. */
  queueTool(thread: string, tool: string, params: t.QueueTool = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.QueuedTool> {
    return this.way.call(facts.queueTool, { thread, tool }, params, options);
  }

  /** Lists the tools that wait for a run, in the order in which they will be carried out. */
  listQueuedTools(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.QueuedTool> {
    return this.way.pages(facts.listQueuedTools, { thread }, params, options);
  }

  /**
   * Shows what a model is given of a thread: messages, what was cut, summary, memories, and tokens of each
   * part.
   */
  getContext(thread: string, params: { /** As the thread was at this version. */ asOf?: t.Version; /** What the last step of this run gave to its model. */ runId?: t.Uuid } = {}, options?: Options<never>): Promise<t.Context> {
    return this.way.call(facts.getContext, { thread }, params, options);
  }

  /** Ends the work on a thread for good: ends its run, empties its queue, and allows no new ones. */
  terminate(thread: string, params: t.Terminate = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.terminateThread, { thread }, params, options);
  }

  /** Hides a thread from the main list. */
  archive(thread: string, params: t.Archive = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.archiveThread, { thread }, params, options);
  }

  /** Shows a thread in the main list again. */
  unarchive(thread: string, params: t.Unarchive = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.unarchiveThread, { thread }, params, options);
  }

  /** Hands a thread to another agent. */
  assign(thread: string, params: t.Assign, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.assignThread, { thread }, params, options);
  }

  /** Activates a skill. */
  activateSkill(thread: string, params: t.Skill, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.activateSkill, { thread }, params, options);
  }

  /** Schedules an effect: a handler that runs later, by its name, once the delay has passed. */
  scheduleEffect(thread: string, params: t.NewEffect, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Effect> {
    return this.way.call(facts.scheduleEffect, { thread }, params, options);
  }

  /** Lists the effects of a thread that wait or run, in the order in which they were scheduled. */
  listEffects(thread: string, params: { /** Only effects of this name. */ name?: string; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Effect> {
    return this.way.pages(facts.listEffects, { thread }, params, options);
  }

  /** Cancels an effect that waits. One that runs or has ended is left alone. */
  removeEffect(thread: string, effect: string, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.removeEffect, { thread, effect }, undefined, options);
  }

  /** Sends an event to the followers of a thread. It is not logged. */
  emitEvent(thread: string, params: t.Emit, options?: Options<never>): Promise<t.EmitTold> {
    return this.way.call(facts.emitEvent, { thread }, params, options);
  }

  /** Lists the subagents of a thread. */
  listSubagents(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Child> {
    return this.way.pages(facts.listSubagents, { thread }, params, options);
  }

  /** Makes a thread for a subagent. */
  createSubagent(thread: string, params: t.NewSubagent, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.SubagentThread> {
    return this.way.call(facts.createSubagent, { thread }, params, options);
  }

  /** Shows the thread that a subagent works for. */
  getParent(thread: string, options?: Options<never>): Promise<t.Thread | null> {
    return this.way.call(facts.getParent, { thread }, undefined, options);
  }

  /** Puts a message in the queue of the thread that a subagent works for. */
  notifyParent(thread: string, params: t.NotifyParent, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Notified> {
    return this.way.call(facts.notifyParent, { thread }, params, options);
  }

  /** Sets the status of a subagent, in free words. */
  setStatus(thread: string, params: t.SetStatus, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.StatusSet> {
    return this.way.call(facts.setStatus, { thread }, params, options);
  }

  /** Runs a tool on a thread at once, with the authority of the caller, and logs its call and its result. */
  invokeTool(thread: string, tool: string, params: t.InvokeTool = {}, options?: Options<never>): Promise<t.ToolTold> {
    return this.way.call(facts.invokeTool, { thread, tool }, params, options);
  }

  /** Starts a run: an agent works on the thread from now on. */
  startRun(thread: string, params: t.StartRun = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Progressed> {
    return this.way.call(facts.startRun, { thread }, params, options);
  }

  /** Lists the runs of a thread, the newest first. */
  listThreadRuns(thread: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Run> {
    return this.way.pages(facts.listThreadRuns, { thread }, params, options);
  }

  /** Shows the open run of a thread: its side, its steps and its prompt. */
  getExecution(thread: string, options?: Options<never>): Promise<t.ExecutionState | null> {
    return this.way.call(facts.getExecution, { thread }, undefined, options);
  }

  /** Makes a thread for a task of its own, which inherits all, some or nothing from this one. */
  spawn(thread: string, params: t.Spawn, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Spawned> {
    return this.way.call(facts.spawnThread, { thread }, params, options);
  }

  /** Changes the lifecycle of a thread: done, cancel, suspend, resume, or archive, which is final. */
  changeLifecycle(thread: string, params: t.ChangeLifecycle, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Thread> {
    return this.way.call(facts.changeLifecycle, { thread }, params, options);
  }

  /** Injects context into a thread; the next start or step of a run delivers it. */
  inject(thread: string, params: t.Inject, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Injected> {
    return this.way.call(facts.inject, { thread }, params, options);
  }

  /** Lists injections: waiting, delivered, or all. */
  listInjections(thread: string, params: { /** Injections that wait, that were taken up, or all. Default: waiting. */ state?: t.InjectionState; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Injection> {
    return this.way.pages(facts.listInjections, { thread }, params, options);
  }

  /** Acknowledges an injection by hand. Repeating it changes nothing. */
  acknowledgeInjection(thread: string, injection: string, params: t.Acknowledge = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Injection> {
    return this.way.call(facts.acknowledgeInjection, { thread, injection }, params, options);
  }

  /** Records the answer to a question; the newest one counts. */
  decide(thread: string, params: t.Decide, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Decision> {
    return this.way.call(facts.decide, { thread }, params, options);
  }

  /** Lists the decisions that count on a thread. */
  listDecisions(thread: string, params: { /** As the thread was at this version. */ asOf?: t.Version; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Decision> {
    return this.way.pages(facts.listDecisions, { thread }, params, options);
  }

  /** Lists values, in the order of their keys. */
  listValues(thread: string, params: { /** Values whose keys begin with this. */ prefix?: string; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string; /** As the thread was at this version. */ asOf?: t.Version } = {}, options?: Options<never>): Paged<t.Value> {
    return this.way.pages(facts.listValues, { thread }, params, options);
  }

  /** Shows the value under a key. A missing key has the value null and version 0. */
  getValue(thread: string, valueKey: string, params: { /** As the thread was at this version. */ asOf?: t.Version } = {}, options?: Options<never>): Promise<t.Value> {
    return this.way.call(facts.getValue, { thread, valueKey }, params, options);
  }

  /** Sets the value under a key to any JSON; null deletes it. */
  setValue(thread: string, valueKey: string, params: t.Json, options?: Options<"expectedVersion" | "ifAbsent" | "writer" | "idempotencyKey">): Promise<t.Value> {
    return this.way.call(facts.setValue, { thread, valueKey }, params, options);
  }

  /** Deletes the value under a key. */
  deleteValue(thread: string, valueKey: string, options?: Options<"expectedVersion" | "ifAbsent" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.deleteValue, { thread, valueKey }, undefined, options);
  }

  /**
   * Lists the variables that a thread sees, by name: its own, those of the threads it works for, its
   * account's and the instance's. Values of secrets are left out.
   */
  listEnv(thread: string, options?: Options<never>): Promise<t.PageOfEnvVariable> {
    return this.way.call(facts.listEnv, { thread }, undefined, options);
  }

  /**
   * Reads a variable as a thread sees it, with its value, also if it is a secret. Variables of the instance
   * are not read.
   */
  getEnv(thread: string, name: string, options?: Options<never>): Promise<t.EnvVariable> {
    return this.way.call(facts.getEnv, { thread, name }, undefined, options);
  }

  /**
   * Sets a variable of a thread. The threads that work for it see it too, unless they have one of the same
   * name. The log holds its name and type; the value is sealed.
   */
  setEnv(thread: string, name: string, params: t.SetEnv, options?: Options<"expectedVersion" | "writer">): Promise<t.EnvVariable> {
    return this.way.call(facts.setEnv, { thread, name }, params, options);
  }

  /** Removes a variable of a thread. Its value is deleted. */
  deleteEnv(thread: string, name: string, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Deleted> {
    return this.way.call(facts.deleteEnv, { thread, name }, undefined, options);
  }

  /** Shows the variables that a subagent of a thread requires before it starts, and those that it lacks. */
  getVariables(thread: string, request: string, options?: Options<never>): Promise<t.RequiredVariables> {
    return this.way.call(facts.getVariables, { thread, request }, undefined, options);
  }

  /** Sets variables that a subagent waits for. It starts once it lacks none. The values are sealed. */
  supplyVariables(thread: string, request: string, params: t.SupplyVariables, options?: Options<"expectedVersion" | "writer">): Promise<t.RequiredVariables> {
    return this.way.call(facts.supplyVariables, { thread, request }, params, options);
  }

  /**
   * Runs JavaScript or TypeScript in a process that reaches nothing but the calls it is granted. Agents need
   * the authority `execute_command`.
   */
  runCode(thread: string, params: t.RunCode, options?: Options<never>): Promise<t.CodeOutcome> {
    return this.way.call(facts.runCode, { thread }, params, options);
  }

  /** Ends a run of code that was started with this id. */
  terminateCode(thread: string, codeRun: string, options?: Options<never>): Promise<t.CodeTerminated> {
    return this.way.call(facts.terminateCode, { thread, codeRun }, undefined, options);
  }
}

/** The calls of `approvals`. */
export class ApprovalsCalls {
  constructor(protected readonly way: Way) {}

  /** Lists approvals of all threads, oldest first. Default: pending ones. */
  list(params: { /** Approvals in this state. Default: pending. */ state?: t.ListedState; /** Approvals of this thread. */ threadId?: t.ThreadName; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Approval> {
    return this.way.pages(facts.listApprovals, {  }, params, options);
  }

  /** Shows an approval. */
  get(approval: string, options?: Options<never>): Promise<t.Approval> {
    return this.way.call(facts.getApproval, { approval }, undefined, options);
  }

  /** Approves a request. */
  approve(approval: string, params: t.Answer = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Approval> {
    return this.way.call(facts.approve, { approval }, params, options);
  }

  /** Denies a request. */
  deny(approval: string, params: t.Answer = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Approval> {
    return this.way.call(facts.deny, { approval }, params, options);
  }

  /** Withdraws a pending approval, or revokes an approved one. */
  revoke(approval: string, params: t.Answer = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Approval> {
    return this.way.call(facts.revokeApproval, { approval }, params, options);
  }
}

/** The calls of `delegations`. */
export class DelegationsCalls {
  constructor(protected readonly way: Way) {}

  /** Revokes a delegation; agents have to ask again. */
  revoke(delegation: string, params: t.Answer = {}, options?: Options<"expectedVersion" | "writer">): Promise<t.Delegation> {
    return this.way.call(facts.revokeDelegation, { delegation }, params, options);
  }
}

/** The calls of `references`. */
export class ReferencesCalls {
  constructor(protected readonly way: Way) {}

  /** Shows a reference. */
  get(reference: string, options?: Options<never>): Promise<t.Reference> {
    return this.way.call(facts.getReference, { reference }, undefined, options);
  }

  /** Reads the messages that a reference shows. */
  listReferredMessages(reference: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string; /** Number of messages to skip. It excludes a cursor. */ offset?: number; /** The page around this message, the oldest first. It excludes a cursor, an offset, a falling order and filters. */ around?: t.MessageName; /** The oldest first, or the newest. Default: asc. */ order?: "asc" | "desc"; /** Messages of this role. */ role?: t.Role; /** Messages at most this far below the conversation. Default: 0. */ maxDepth?: number; /** Whether silent messages are included. */ includeSilent?: boolean; /** As the thread was at this version. */ asOf?: t.Version; /** A thread of the reader, which mentions this one by reading it. It needs a key that may write. */ from?: t.ThreadName; /** Whether to tell how many messages pass the filters. Default: true, unless a role is named without an offset. */ total?: boolean } = {}, options?: Options<never>): Paged<t.Message> {
    return this.way.pages(facts.listReferredMessages, { reference }, params, options);
  }

  /** Lists the files that a reference shows. */
  listReferredFiles(reference: string, params: { /** Only what is below this directory. */ below?: string; /** Maximum number of items. */ limit?: number; /** The `nextCursor` of the previous page. */ cursor?: string } = {}, options?: Options<never>): Paged<t.FileRecord> {
    return this.way.pages(facts.listReferredFiles, { reference }, params, options);
  }

  /** Lists the values that a reference shows, in the order of their keys. */
  listReferredValues(reference: string, params: { /** Those whose keys begin with this. */ prefix?: string; /** Maximum number of items. */ limit?: number; /** The `nextCursor` of the previous page. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Value> {
    return this.way.pages(facts.listReferredValues, { reference }, params, options);
  }

  /** Shows a value through a reference. A missing key has the value null and version 0. */
  getReferredValue(reference: string, valueKey: string, options?: Options<never>): Promise<t.Value> {
    return this.way.call(facts.getReferredValue, { reference, valueKey }, undefined, options);
  }
}

/** The calls of `runs`. */
export class RunsCalls {
  constructor(protected readonly way: Way) {}

  /** Lists the runs of all threads: open ones by their start, then ended ones by their end, oldest first. */
  list(params: { /** Runs with this status. Default: all. */ status?: "queued" | "running" | "waiting" | "completed" | "failed" | "stopped" | "open" | "ended" | "all"; /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Run> {
    return this.way.pages(facts.listRuns, {  }, params, options);
  }

  /** Shows a run, and of each step the model, what it was given, tokens, cost and times. */
  get(run: string, options?: Options<never>): Promise<t.RunTold> {
    return this.way.call(facts.getRun, { run }, undefined, options);
  }

  /** Takes a step: appends messages, and returns queued messages and injections. */
  step(run: string, params: t.StepRun = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Progressed> {
    return this.way.call(facts.stepRun, { run }, params, options);
  }

  /** Sends text as it is made to the readers of the run's stream. It is not logged. */
  sendDelta(run: string, params: t.SendDelta, options?: Options<never>): Promise<t.DeltaTold> {
    return this.way.call(facts.sendDelta, { run }, params, options);
  }

  /** Ends a run. */
  end(run: string, params: t.EndRun = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Progressed> {
    return this.way.call(facts.endRun, { run }, params, options);
  }

  /** Asks the executor of a run to stop. After 5 seconds the run ends in any case. */
  stop(run: string, params: t.StopRun = {}, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Run> {
    return this.way.call(facts.stopRun, { run }, params, options);
  }

  /** Gives the next turn of a `dual_ai` run to a side. The executor takes this up before its next step. */
  forceTurn(run: string, params: t.ForceTurn, options?: Options<"expectedVersion" | "writer" | "idempotencyKey">): Promise<t.Run> {
    return this.way.call(facts.forceTurn, { run }, params, options);
  }
}

/** The calls of `env`. */
export class EnvCalls {
  constructor(protected readonly way: Way) {}

  /** Lists the variables of the account, by name. Values of secrets are left out. */
  list(options?: Options<never>): Promise<t.PageOfEnvVariable> {
    return this.way.call(facts.listAccountEnv, {  }, undefined, options);
  }

  /** Reads a variable of the account, with its value, also if it is a secret. */
  get(name: string, options?: Options<never>): Promise<t.EnvVariable> {
    return this.way.call(facts.getAccountEnv, { name }, undefined, options);
  }

  /**
   * Sets a variable of the account. Every thread of the account sees it, unless it has one of the same name.
   * The value is sealed.
   */
  set(name: string, params: t.SetAccountEnv, options?: Options<never>): Promise<t.EnvVariable> {
    return this.way.call(facts.setAccountEnv, { name }, params, options);
  }

  /** Removes a variable of the account. Its value is deleted. */
  delete(name: string, options?: Options<never>): Promise<t.Deleted> {
    return this.way.call(facts.deleteAccountEnv, { name }, undefined, options);
  }
}

/** The calls of `admin`. */
export class AdminCalls {
  constructor(protected readonly way: Way) {}

  /**
   * Lists the names of the instance's variables: those in the server's environment that begin with
   * `THREADKEEP_ENV_`.
   */
  listInstanceEnv(options?: Options<never>): Promise<t.PageOfEnvVariable> {
    return this.way.call(facts.listInstanceEnv, {  }, undefined, options);
  }

  /** Frees data that no thread reaches any more. */
  collectGarbage(params: t.RunGc = {}, options?: Options<never>): Promise<t.Gc> {
    return this.way.call(facts.collectGarbage, {  }, params, options);
  }

  /** Compares all derived data with the log, and rebuilds it if `repair` is set. */
  runDoctor(params: t.RunDoctor = {}, options?: Options<never>): Promise<t.Doctor> {
    return this.way.call(facts.runDoctor, {  }, params, options);
  }

  /**
   * Lets this store run effects that came along with a backup, a copy or an import. They wait until then: the
   * original store may still run them.
   */
  adoptEffects(params: t.AdoptEffects = {}, options?: Options<never>): Promise<t.Adopted> {
    return this.way.call(facts.adoptEffects, {  }, params, options);
  }
}

/** The calls of `searching`. */
export class SearchingCalls {
  constructor(protected readonly way: Way) {}

  /** Finds the account's threads that match a question, the best first, each opened at its best message. */
  search(params: t.SearchThreads, options?: Options<never>): Promise<t.SearchFound> {
    return this.way.call(facts.search, {  }, params, options);
  }

  /** Indexes missing messages, and drops messages that no thread shows any more. */
  backfillSearch(params: t.RunBackfill = {}, options?: Options<never>): Promise<t.Backfilled> {
    return this.way.call(facts.backfillSearch, {  }, params, options);
  }

  /** Shows how far the search index follows the log, and its size for the account. */
  getSearchStatus(options?: Options<never>): Promise<t.SearchStatus> {
    return this.way.call(facts.getSearchStatus, {  }, undefined, options);
  }
}

/** The calls of `projects`. */
export class ProjectsCalls {
  constructor(protected readonly way: Way) {}

  /** Lists the account's projects, in the order of their ids. */
  list(params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Project> {
    return this.way.pages(facts.listProjects, {  }, params, options);
  }

  /** Makes a project. */
  create(params: t.PutProject, options?: Options<never>): Promise<t.Project> {
    return this.way.call(facts.createProject, {  }, params, options);
  }

  /** Shows a project. */
  get(project: string, options?: Options<never>): Promise<t.Project> {
    return this.way.call(facts.getProject, { project }, undefined, options);
  }

  /** Makes a project with this id, or replaces its fields. */
  put(project: string, params: t.PutProject, options?: Options<never>): Promise<t.Project> {
    return this.way.call(facts.putProject, { project }, params, options);
  }

  /** Replaces fields of a project; null clears one. */
  update(project: string, params: t.ProjectChanges = {}, options?: Options<never>): Promise<t.Project> {
    return this.way.call(facts.updateProject, { project }, params, options);
  }

  /** Deletes a project; its threads stay. */
  delete(project: string, options?: Options<never>): Promise<t.Deleted> {
    return this.way.call(facts.deleteProject, { project }, undefined, options);
  }

  /** Lists the memories of a project, the oldest first. */
  listProjectMemories(project: string, params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Memory> {
    return this.way.pages(facts.listProjectMemories, { project }, params, options);
  }

  /** Remembers a text in the threads of a project. The same text is remembered once. */
  createProjectMemory(project: string, params: t.AddMemory, options?: Options<never>): Promise<t.Memory> {
    return this.way.call(facts.createProjectMemory, { project }, params, options);
  }
}

/** The calls of `memories`. */
export class MemoriesCalls {
  constructor(protected readonly way: Way) {}

  /** Lists the memories of the account, the oldest first, those of its projects too. */
  list(params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Memory> {
    return this.way.pages(facts.listMemories, {  }, params, options);
  }

  /** Remembers a text in all threads of the account. The same text is remembered once. */
  create(params: t.AddMemory, options?: Options<never>): Promise<t.Memory> {
    return this.way.call(facts.createMemory, {  }, params, options);
  }

  /** Shows a memory. */
  get(memory: string, options?: Options<never>): Promise<t.Memory> {
    return this.way.call(facts.getMemory, { memory }, undefined, options);
  }

  /** Replaces the text of a memory. One that a person edited outlives its sources. */
  update(memory: string, params: t.EditMemory, options?: Options<never>): Promise<t.Memory> {
    return this.way.call(facts.updateMemory, { memory }, params, options);
  }

  /** Forgets a memory. */
  delete(memory: string, options?: Options<never>): Promise<t.Deleted> {
    return this.way.call(facts.deleteMemory, { memory }, undefined, options);
  }

  /** Finds the account's memories that match a question, the best first. */
  search(params: t.SearchMemories, options?: Options<never>): Promise<t.MemoriesFound> {
    return this.way.call(facts.searchMemories, {  }, params, options);
  }
}

/** The calls of `keys`. */
export class KeysCalls {
  constructor(protected readonly way: Way) {}

  /** Lists the keys, without their secrets. */
  list(params: { /** Number of items in a page. */ limit?: number; /** The cursor of the page before. */ cursor?: string } = {}, options?: Options<never>): Paged<t.Key> {
    return this.way.pages(facts.listKeys, {  }, params, options);
  }

  /** Makes a key. Only this answer has its secret. */
  create(params: t.NewKey, options?: Options<never>): Promise<t.CreatedKey> {
    return this.way.call(facts.createKey, {  }, params, options);
  }

  /** Revokes a key; its streams end. */
  revoke(key: string, options?: Options<never>): Promise<t.Revoked> {
    return this.way.call(facts.revokeKey, { key }, undefined, options);
  }
}

/** The calls of `tickets`. */
export class TicketsCalls {
  constructor(protected readonly way: Way) {}

  /** Makes a ticket, which opens one stream once, within a minute, in place of a key. */
  create(params: t.NewTicket, options?: Options<never>): Promise<t.Ticket> {
    return this.way.call(facts.createTicket, {  }, params, options);
  }
}

/** The calls of `account`. */
export class AccountCalls {
  constructor(protected readonly way: Way) {}

  /** Shows the account, the actor and the scope of the key, and the version of the server. */
  get(options?: Options<never>): Promise<t.Me> {
    return this.way.call(facts.getMe, {  }, undefined, options);
  }
}

/** The calls of `definitions`. */
export class DefinitionsCalls {
  constructor(protected readonly way: Way) {}

  /** Lists all definitions of the server, and the mistakes in their files. */
  list(options?: Options<never>): Promise<t.DefinitionList> {
    return this.way.call(facts.listDefinitions, {  }, undefined, options);
  }

  /** Shows a definition: what its file says, without code and without the values of variables. */
  get(kind: string, definition: string, options?: Options<never>): Promise<t.Definition> {
    return this.way.call(facts.getDefinition, { kind, definition }, undefined, options);
  }

  /** Reads the folder of definitions again. A server also does so by itself, within a second of a change. */
  reload(options?: Options<never>): Promise<t.DefinitionList> {
    return this.way.call(facts.reloadDefinitions, {  }, undefined, options);
  }
}
