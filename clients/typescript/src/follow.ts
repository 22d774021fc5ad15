// Streams: the entries of a thread, or of many, then live; and the events of a run. They reconnect, and give each once.

import { FateUnknown, NotFound, Refused, ThreadkeepError, Unavailable, Unreachable, refused } from "./errors.js";
import type { HistoryEntry, RunEvent } from "./printed/types.js";
import { frames, hasSockets } from "./socket.js";
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

/** A stream that goes on: it reconnects, and begins where the last item was handed over. */
abstract class Stream<Item> implements AsyncIterable<Item> {
  private wasOpen = false;

  constructor(
    protected readonly way: Way,
    protected readonly path: string,
    protected readonly signal: AbortSignal | undefined,
    /** Whether it ends when what it follows is gone. */
    private readonly ends: boolean,
  ) {}

  /** The place after which the next connection begins. */
  protected abstract after(): string | undefined;

  /** A connection was opened. */
  protected abstract opened(response: Response): void;

  /** The item in an event; none if it was given before, or is none. */
  protected abstract take(event: ServerSent): Item | undefined;

  /** Whether nothing comes after this item. */
  protected abstract isLast(item: Item): boolean;

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    let until = Date.now() + this.way.retryForMs;
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      this.signal?.throwIfAborted();
      let failure: ThreadkeepError | undefined;
      // When the server answered; a server that does not answer is not tried for ever.
      let opened: number | undefined;
      let hadNews = false;
      try {
        const told = await this.open();
        if (told instanceof ThreadkeepError) {
          failure = told;
        } else {
          this.wasOpen = true;
          opened = Date.now();
          for await (const event of told) {
            if (event.event === "error") {
              failure = ended(event);
              break;
            }
            const item = this.take(event);
            if (item === undefined) continue;
            hadNews = true;
            yield item;
            if (this.isLast(item)) return;
          }
        }
      } catch (cause) {
        this.signal?.throwIfAborted();
        if (cause instanceof ThreadkeepError) throw cause;
        failure = new FateUnknown(`the stream from ${this.way.url} broke`, cause);
      }
      if (failure instanceof NotFound && this.wasOpen && this.ends) return;
      if (hadNews || (opened !== undefined && Date.now() - opened > 1_000)) {
        until = Date.now() + this.way.retryForMs;
        pause = FIRST_PAUSE_MS;
      }
      if (failure instanceof Refused && !(failure instanceof Unavailable)) throw failure;
      if (Date.now() + pause > until) throw failure ?? new Unreachable(`the stream from ${this.way.url} ends at once`);
      await sleep(pause * (0.5 + Math.random() / 2), this.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Opens a connection after the last place. */
  protected async open(): Promise<AsyncIterable<ServerSent> | ThreadkeepError> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    const after = this.after();
    if (after !== undefined) headers["Last-Event-ID"] = after;
    const response = await this.way.attempt({ method: "GET", path: this.path, headers, repeats: true, signal: this.signal });
    if (response instanceof ThreadkeepError) return response;
    this.opened(response);
    return response.body ? events(response.body, this.way.silenceMs) : nothing();
  }
}

async function* nothing(): AsyncGenerator<ServerSent> {
  // A platform without streams of bytes gives no body.
}

/** The entries of threads: `for await (const entry of following)`. */
export class Following extends Stream<HistoryEntry> {
  /** The place of the last entry that was handed over, to go on from with `after`. */
  cursor: string | undefined;

  constructor(
    way: Way,
    path: string,
    private readonly options: FollowOptions,
    private readonly isOfOneThread: boolean,
  ) {
    super(way, path, options.signal, isOfOneThread);
    this.cursor = options.after === undefined ? undefined : String(options.after);
  }

  protected after(): string | undefined {
    return this.cursor;
  }

  /** In browsers, one thread is followed over a WebSocket: of other streams they open six at a time for all their tabs. */
  protected override async open(): Promise<AsyncIterable<ServerSent> | ThreadkeepError> {
    if (!this.isOfOneThread || !hasSockets()) return super.open();
    const ask = (method: string, path: string, body?: string) =>
      this.way.attempt({ method, path, body, headers: { "Content-Type": "application/json" }, repeats: true, signal: this.signal });
    const thread = () => ask("GET", this.path.replace(/\/stream$/, ""));
    if (this.cursor === "latest") {
      const found = await thread();
      if (found instanceof ThreadkeepError) return found;
      this.cursor = String(((await found.json()) as { v: number }).v);
    }
    const path = this.path.replace(/\/stream$/, "/ws");
    const drawn = await ask("POST", "/v1/tickets", JSON.stringify({ path }));
    if (drawn instanceof ThreadkeepError) return drawn;
    const { ticket } = (await drawn.json()) as { ticket: string };
    const opened = await frames(`${this.way.url}${path}${query({ after: this.cursor, ticket })}`, this.signal);
    if (opened) return opened;
    // A browser does not say why a socket was refused.
    const found = await thread();
    return found instanceof ThreadkeepError ? found : new FateUnknown(`no WebSocket to ${this.way.url}`);
  }

  protected opened(response: Response): void {
    // A stream that begins with the latest entry learns its place here.
    if (this.cursor === undefined || this.cursor === "latest") {
      this.cursor = response.headers.get("threadkeep-cursor") ?? this.cursor;
    }
  }

  protected isLast(): boolean {
    return false;
  }

  protected take(event: ServerSent): HistoryEntry | undefined {
    if (event.id === undefined) {
      this.options.onEvent?.({ event: event.event, data: parsed(event.data) });
      return undefined;
    }
    const [place, last] = [Number(event.id), Number(this.cursor)];
    if (this.isOfOneThread && this.cursor !== undefined && place <= last) return undefined;
    const entry = parsed(event.data);
    // The cursor moves when the entry is handed over: one that was not is told again.
    this.cursor = event.id;
    if (typeof entry !== "object" || entry === null || !("version" in entry)) {
      this.options.onEvent?.({ event: event.event, data: entry });
      return undefined;
    }
    return entry as HistoryEntry;
  }
}

/** Places for chunks between two versions. */
const CHUNKS = 2 ** 20;
const OVER = ["completed", "failed", "stopped"];

/** The events of a run: `for await (const event of following)`. */
export class RunFollowing extends Stream<RunEvent> {
  /** The place of the last event. An entry of the log may bring several events with one place. */
  private last = { id: undefined as string | undefined, epoch: "", version: -1, chunks: 0 };
  /** The place before it: the next connection begins there, and tells the events of the last place again. */
  private before: string | undefined;
  /** Events of the last place that were given, and that came on this connection. */
  private given = 0;
  private here = 0;
  private isTimed = false;

  constructor(way: Way, run: string, signal?: AbortSignal) {
    super(way, filled("/v1/runs/{run}/stream", { run }), signal, true);
  }

  protected after(): string | undefined {
    return this.before;
  }

  protected opened(): void {
    this.here = 0;
  }

  protected isLast(event: RunEvent): boolean {
    return event.type === "status" && OVER.includes(event.status);
  }

  protected take({ id, data }: ServerSent): RunEvent | undefined {
    return this.isNew(id) ? (parsed(data) as RunEvent) : undefined;
  }

  private isNew(id: string | undefined): boolean {
    if (id === undefined) {
      // The time of the first piece has no place.
      const isNew = !this.isTimed;
      this.isTimed = true;
      return isNew;
    }
    const [epoch = "", sequence] = id.split(".");
    const [version, chunks] = [Math.floor(Number(sequence) / CHUNKS), Number(sequence) % CHUNKS];
    const { last } = this;
    if (version === last.version && chunks === 0 && last.chunks === 0) {
      this.here += 1;
      if (this.here <= this.given) return false;
      this.given += 1;
      return true;
    }
    // A server that was started again counts chunks anew.
    const isLater = version > last.version || (version === last.version && chunks > 0 && (chunks > last.chunks || epoch !== last.epoch));
    if (!isLater) return false;
    this.before = chunks > 0 ? id : last.id;
    this.last = { id, epoch, version, chunks };
    this.given = this.here = 1;
    return true;
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
