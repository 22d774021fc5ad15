// Streams: the entries of a thread, or of many, then live. They reconnect, and give each entry once.

import { FateUnknown, NotFound, Refused, ThreadkeepError, Unavailable, Unreachable, refused } from "./errors.js";
import type { HistoryEntry } from "./printed/types.js";
import { events, type ServerSent } from "./sse.js";
import { filled, query, sleep, type Way } from "./way.js";

/** Where to begin: after a version or a cursor, `latest` for new entries only, or from the first entry. */
export interface FollowOptions {
  after?: number | string;
  signal?: AbortSignal;
  /** Called with events that are no entries: emitted ones, and those that come beside an entry. */
  onEvent?: (event: { event: string; data: unknown }) => void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** Follows one thread. It ends when the thread is deleted. */
export function followThread(way: Way, thread: string, options: FollowOptions = {}): Following {
  return new Following(way, filled("/v1/threads/{thread}/stream", { thread }), options, true);
}

/** Follows many threads, or those of a project. */
export function followMany(way: Way, which: { threads?: string[]; projectId?: string }, options: FollowOptions = {}): Following {
  const path = `/v1/stream${query({ threads: which.threads?.join(","), projectId: which.projectId })}`;
  return new Following(way, path, options, false);
}

/** A stream that goes on: `for await (const entry of following)`. */
export class Following implements AsyncIterable<HistoryEntry> {
  /** The place of the last entry that was handed over, to go on from with `after`. */
  cursor: string | undefined;
  private wasOpen = false;

  constructor(
    private readonly way: Way,
    private readonly path: string,
    private readonly options: FollowOptions,
    private readonly isOfOneThread: boolean,
  ) {
    this.cursor = options.after === undefined ? undefined : String(options.after);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<HistoryEntry> {
    let until = Date.now() + this.way.retryForMs;
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      this.options.signal?.throwIfAborted();
      let failure: ThreadkeepError | undefined;
      const opened = Date.now();
      let hadNews = false;
      try {
        const response = await this.open();
        if (response instanceof ThreadkeepError) {
          failure = response;
        } else if (response.body) {
          for await (const event of events(response.body, this.way.silenceMs)) {
            if (event.event === "error") {
              failure = ended(event);
              break;
            }
            const entry = this.entry(event);
            if (entry === undefined) continue;
            hadNews = true;
            // The cursor moves when the entry is handed over: one that was not is told again.
            if (event.id !== undefined) this.cursor = event.id;
            yield entry;
          }
        }
      } catch (cause) {
        this.options.signal?.throwIfAborted();
        if (cause instanceof ThreadkeepError) throw cause;
        failure = new FateUnknown(`the stream from ${this.way.url} broke`, cause);
      }
      if (failure instanceof NotFound && this.wasOpen && this.isOfOneThread) return;
      if (hadNews || Date.now() - opened > 1_000) {
        until = Date.now() + this.way.retryForMs;
        pause = FIRST_PAUSE_MS;
      }
      if (failure instanceof Refused && !(failure instanceof Unavailable)) throw failure;
      if (Date.now() + pause > until) throw failure ?? new Unreachable(`the stream from ${this.way.url} ends at once`);
      await sleep(pause * (0.5 + Math.random() / 2), this.options.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  private async open(): Promise<Response | ThreadkeepError> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.cursor !== undefined) headers["Last-Event-ID"] = this.cursor;
    const response = await this.way.attempt({
      method: "GET",
      path: this.path,
      headers,
      repeats: true,
      signal: this.options.signal,
    });
    if (response instanceof Response) {
      this.wasOpen = true;
      // A stream that begins with the latest entry learns its place here.
      if (this.cursor === undefined || this.cursor === "latest") {
        this.cursor = response.headers.get("threadkeep-cursor") ?? this.cursor;
      }
    }
    return response;
  }

  /** The entry in an event; none if it was given before, or is none. */
  private entry(event: ServerSent): HistoryEntry | undefined {
    if (event.id === undefined) {
      this.options.onEvent?.({ event: event.event, data: parsed(event.data) });
      return undefined;
    }
    const [place, last] = [Number(event.id), Number(this.cursor)];
    if (this.isOfOneThread && this.cursor !== undefined && place <= last) return undefined;
    const entry = parsed(event.data);
    if (typeof entry !== "object" || entry === null || !("version" in entry)) {
      this.options.onEvent?.({ event: event.event, data: entry });
      this.cursor = event.id;
      return undefined;
    }
    return entry as HistoryEntry;
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

/** The server ends a stream with a problem that has no status of its own. */
function ended(event: ServerSent): Refused {
  const problem = (parsed(event.data) ?? {}) as Record<string, unknown>;
  const status = problem["code"] === "unavailable" ? 503 : Number(problem["status"] ?? 403);
  return refused(status, problem);
}
