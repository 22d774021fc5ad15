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
import { followMany, followThread, type FollowOptions, type Following } from "./follow.js";
import {
  AdminCalls,
  ApprovalsCalls,
  DelegationsCalls,
  EnvCalls,
  KeysCalls,
  ProjectsCalls,
  ReferencesCalls,
  SearchingCalls,
  ThreadsCalls,
  TicketsCalls,
} from "./printed/calls.js";
import type { SearchFound, SearchThreads } from "./printed/types.js";
import { Way, type Options, type Settings } from "./way.js";

export * from "./errors.js";
export { Files, type FileAt, type WriteFileOptions } from "./files.js";
export { Following, type FollowOptions } from "./follow.js";
export type * from "./printed/types.js";
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

/** A Threadkeep server. */
export class Threadkeep {
  readonly threads: Threads;
  readonly approvals: ApprovalsCalls;
  readonly delegations: DelegationsCalls;
  readonly references: ReferencesCalls;
  readonly projects: ProjectsCalls;
  readonly keys: KeysCalls;
  /** Variables and secrets of the account; those of a thread are among the calls of threads. */
  readonly env: EnvCalls;
  readonly searching: SearchingCalls;
  readonly tickets: TicketsCalls;
  readonly admin: AdminCalls;

  /** Without settings, `THREADKEEP_SERVER` and `THREADKEEP_KEY` say where the server is. */
  constructor(settings: Partial<Settings> = {}) {
    const env = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
    const url = settings.url ?? env["THREADKEEP_SERVER"] ?? "http://127.0.0.1:8473";
    const key = settings.key ?? env["THREADKEEP_KEY"];
    const way = new Way({ ...settings, url, ...(key === undefined ? {} : { key }) });
    this.threads = new Threads(way);
    this.approvals = new ApprovalsCalls(way);
    this.delegations = new DelegationsCalls(way);
    this.references = new ReferencesCalls(way);
    this.projects = new ProjectsCalls(way);
    this.keys = new KeysCalls(way);
    this.env = new EnvCalls(way);
    this.searching = new SearchingCalls(way);
    this.tickets = new TicketsCalls(way);
    this.admin = new AdminCalls(way);
  }

  /** Searches the messages of all threads. */
  search(question: SearchThreads, options?: Options): Promise<SearchFound> {
    return this.searching.search(question, options);
  }
}
