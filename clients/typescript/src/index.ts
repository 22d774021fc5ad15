/**
 * The client of Threadkeep.
 *
 * ```ts
 * const keep = new Threadkeep();
 * const thread = await keep.threads.create({ title: "Tea" });
 * await keep.threads.appendMessages(thread.id, { role: "user", content: "Hello" });
 * for await (const entry of keep.threads.follow(thread.id)) console.log(entry.kind);
 * ```
 */

import { Files } from "./files.js";
import { RunFollowing, followMany, followThread, type FollowOptions, type Following } from "./follow.js";
import {
  AdminCalls,
  ApprovalsCalls,
  DelegationsCalls,
  DefinitionsCalls,
  EnvCalls,
  KeysCalls,
  MemoriesCalls,
  ProjectsCalls,
  ReferencesCalls,
  RunsCalls,
  SearchingCalls,
  ThreadsCalls,
  TicketsCalls,
} from "./printed/calls.js";
import type { SearchFound, SearchThreads } from "./printed/types.js";
import { RemoteThreadState, type StateOptions } from "./state/remote.js";
import { Way, type Options, type Settings } from "./way.js";

export * from "./errors.js";
export { Files, type FileAt, type WriteFileOptions } from "./files.js";
export { Following, RunFollowing, type FollowOptions } from "./follow.js";
export type * from "./printed/types.js";
export type { ThreadState } from "../types/thread-state.js";
export { RemoteThreadState, type StateOptions } from "./state/remote.js";
export { Paged, type Condition, type Options, type Page, type Settings } from "./way.js";

/** The calls of threads, their streams and their files. */
export class Threads extends ThreadsCalls {
  /** The files of threads. */
  readonly files: Files;

  constructor(way: Way) {
    super(way);
    this.files = new Files(way);
  }

  /** Follows a thread: its entries from the first one, or after `after`, then live; each entry once. */
  follow(thread: string, options?: FollowOptions): Following {
    return followThread(this.way, thread, options);
  }

  /** Follows many threads, or those of a project. */
  followMany(which: { threads?: string[]; projectId?: string }, options?: FollowOptions): Following {
    return followMany(this.way, which, options);
  }
}

/** The calls of runs, and their streams. */
export class Runs extends RunsCalls {
  /** Follows a run from its start: text as it is made, calls of tools, its status; each event once. It ends with the run. */
  follow(run: string, options: { signal?: AbortSignal } = {}): RunFollowing {
    return new RunFollowing(this.way, run, options.signal);
  }
}

/** A Threadkeep server. */
export class Threadkeep {
  readonly threads: Threads;
  /** The work of agents, by the id of a run; runs of a thread are among the calls of threads. */
  readonly runs: Runs;
  readonly approvals: ApprovalsCalls;
  readonly delegations: DelegationsCalls;
  readonly references: ReferencesCalls;
  readonly projects: ProjectsCalls;
  /** Texts that are remembered across threads. */
  readonly memories: MemoriesCalls;
  readonly keys: KeysCalls;
  /** Variables and secrets of the account; those of a thread are among the calls of threads. */
  readonly env: EnvCalls;
  /** Agents, prompts, models and tools of the server. */
  readonly definitions: DefinitionsCalls;
  readonly searching: SearchingCalls;
  readonly tickets: TicketsCalls;
  readonly admin: AdminCalls;
  private readonly way: Way;

  /**
   * Without settings, `THREADKEEP_SERVER` and `THREADKEEP_KEY` say where the server is; else the file `server.json` of a server
   * that runs on the data folder (`THREADKEEP_DATA`, or `threadkeep-data`).
   */
  constructor(settings: Settings = {}) {
    const way = new Way(settings);
    this.way = way;
    this.threads = new Threads(way);
    this.runs = new Runs(way);
    this.approvals = new ApprovalsCalls(way);
    this.delegations = new DelegationsCalls(way);
    this.references = new ReferencesCalls(way);
    this.projects = new ProjectsCalls(way);
    this.memories = new MemoriesCalls(way);
    this.keys = new KeysCalls(way);
    this.env = new EnvCalls(way);
    this.definitions = new DefinitionsCalls(way);
    this.searching = new SearchingCalls(way);
    this.tickets = new TicketsCalls(way);
    this.admin = new AdminCalls(way);
  }

  /** A thread as the `ThreadState` of Standard Agents. */
  state(thread: string, options?: StateOptions): Promise<RemoteThreadState> {
    return RemoteThreadState.open(this, this.way, thread, options);
  }

  /** Searches the messages of all threads. */
  search(question: SearchThreads, options?: Options): Promise<SearchFound> {
    return this.searching.search(question, options);
  }
}
