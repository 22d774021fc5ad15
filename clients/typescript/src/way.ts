// The way to the server: requests, retries, pages. Everything else stands on this file.

import { FateUnknown, Refused, ThreadkeepError, Unauthorized, Unavailable, Unreachable, refused } from "./errors.js";
import { place, type Place } from "./place.js";

/** What a client has to know of a call. It is printed from the table of calls. */
export interface Facts {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly body: boolean;
  /** Whether sending it twice is the same as once. */
  readonly repeats: boolean;
  readonly honours: readonly Condition[];
}

/** Conditions that a call may honour. */
export type Condition = "expectedVersion" | "ifAbsent" | "writer" | "idempotencyKey";

interface Conditions {
  /** The version the thread has to be at; for a value, the version of the value. */
  expectedVersion?: number;
  /** Only if there is none yet. */
  ifAbsent?: boolean;
  /** The token of the lock under which the caller writes. */
  writer?: string;
  /** The key under which the call may be repeated. One is drawn if none is given. */
  idempotencyKey?: string;
}

/** Options of a call: the conditions that it honours, and how it is sent. */
export type Options<Honoured extends Condition = never> = Pick<Conditions, Honoured> & {
  /** Ends the call. */
  signal?: AbortSignal;
  /** Who acts, such as `agent reviewer`; for keys that may say so. */
  actor?: string;
};

/** How a client reaches its server. */
export interface Settings {
  /** The address of the server, such as `http://127.0.0.1:8473`. */
  url?: string;
  /** The key. */
  key?: string;
  /** Who acts, for every call. */
  actor?: string;
  /** Milliseconds after which a call is not tried again: 15,000. 0 never tries again. */
  retryForMs?: number;
  /** Milliseconds of silence after which a stream is opened anew: 45,000. */
  silenceMs?: number;
  /** The function that sends requests: `fetch` of the platform. */
  fetch?: typeof fetch;
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Goes on where this page ends; null at the end. */
  nextCursor: string | null;
  /** How many there are in all, where that was counted. */
  total?: number | null;
}

/** A list: `for await (const item of list)`, or page by page. */
export class Paged<Item> implements AsyncIterable<Item> {
  constructor(private readonly read: (cursor?: string) => Promise<Page<Item>>) {}

  /** One page: the first, or the one at `cursor`. */
  page(cursor?: string): Promise<Page<Item>> {
    return this.read(cursor);
  }

  /** All items. */
  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    let cursor: string | undefined;
    do {
      const page = await this.read(cursor);
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}

/** A request, as `Way.send` takes it. */
export interface Asked {
  method: string;
  /** Path and query. */
  path: string;
  headers?: Record<string, string>;
  body?: BodyInit | undefined;
  /** Whether it may be sent again when it is not known whether it was carried out. */
  repeats: boolean;
  signal?: AbortSignal | undefined;
  actor?: string | undefined;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
const RETRY_FOR_MS = 15_000;

/** Sends requests to one server. */
export class Way {
  readonly retryForMs: number;
  readonly silenceMs: number;
  private readonly fetch: typeof fetch;
  private readonly find: () => Place;
  private place: Place;

  constructor(private readonly settings: Settings) {
    this.find = place(settings);
    this.place = this.find();
    this.retryForMs = settings.retryForMs ?? RETRY_FOR_MS;
    this.silenceMs = settings.silenceMs ?? 45_000;
    this.fetch = settings.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The address of the server. */
  get url(): string {
    return this.place.url;
  }

  /** Looks where the server is now; whether that is another place. */
  private moved(): boolean {
    const before = this.place;
    this.place = this.find();
    return before.url !== this.place.url || before.key !== this.place.key;
  }

  /** Carries out a call of the table. */
  async call<Answer>(
    facts: Facts,
    path: Record<string, string>,
    params?: unknown,
    options?: Options<Condition>,
  ): Promise<Answer> {
    const response = await this.send(this.asked(facts, path, params, options));
    const text = await response.text();
    return (text === "" ? undefined : JSON.parse(text)) as Answer;
  }

  /** A list, page by page. */
  pages<Item>(facts: Facts, path: Record<string, string>, params?: object, options?: Options<Condition>): Paged<Item> {
    // A cursor knows where its page begins, so what named the first page does not go with it.
    const after = (cursor: string) => ({ ...params, offset: undefined, around: undefined, cursor });
    return new Paged((cursor) => this.call<Page<Item>>(facts, path, cursor === undefined ? params : after(cursor), options));
  }

  private asked(facts: Facts, path: Record<string, string>, params?: unknown, options?: Options<Condition>): Asked {
    const headers: Record<string, string> = {};
    const conditions = { ...options };
    for (const condition of ["expectedVersion", "ifAbsent", "writer", "idempotencyKey"] as const) {
      if (conditions[condition] !== undefined && !facts.honours.includes(condition)) {
        throw new ThreadkeepError(`${facts.id} does not honour ${condition}`, "not_honoured");
      }
    }
    // A version that was expected is gone once the change is made, so only a key makes it safe to send it again.
    const keyed = !facts.repeats || conditions.expectedVersion !== undefined || facts.honours.includes("ifAbsent");
    if (keyed && conditions.idempotencyKey === undefined && this.retryForMs > 0 && facts.honours.includes("idempotencyKey")) {
      conditions.idempotencyKey = globalThis.crypto.randomUUID();
    }
    if (conditions.expectedVersion !== undefined) headers["If-Match"] = `"${conditions.expectedVersion}"`;
    if (conditions.ifAbsent) headers["If-None-Match"] = "*";
    if (conditions.writer !== undefined) headers["Threadkeep-Writer"] = conditions.writer;
    if (conditions.idempotencyKey !== undefined) headers["Idempotency-Key"] = conditions.idempotencyKey;
    if (facts.body) headers["Content-Type"] = "application/json";
    return {
      method: facts.method,
      path: filled(facts.path, path) + (facts.body ? "" : query(params as object | undefined)),
      headers,
      body: facts.body ? JSON.stringify(params === undefined ? {} : params) : undefined,
      repeats: conditions.idempotencyKey !== undefined || (facts.repeats && conditions.expectedVersion === undefined),
      signal: conditions.signal,
      actor: conditions.actor,
    };
  }

  /** Sends a request until it is answered, refused for good, or there is no time left. */
  async send(asked: Asked): Promise<Response> {
    const until = Date.now() + this.retryForMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const failure = await this.attempt(asked);
      if (failure instanceof Response) return failure;
      const again = failure instanceof Unreachable || failure instanceof Unavailable || (failure instanceof FateUnknown && asked.repeats);
      const wait = Math.max(pause * (0.5 + Math.random() / 2), retryAfter(failure));
      if (!again || Date.now() + wait > until) throw failure;
      await sleep(wait, asked.signal);
    }
  }

  /** One attempt: the answer, or why there is none. */
  async attempt(asked: Asked): Promise<Response | ThreadkeepError> {
    asked.signal?.throwIfAborted();
    const headers: Record<string, string> = { Accept: "application/json", ...asked.headers };
    const { url, key } = this.place;
    if (key) headers["Authorization"] = `Bearer ${key}`;
    const actor = asked.actor ?? this.settings.actor;
    if (actor) headers["Threadkeep-Actor"] = actor;
    const init: RequestInit & { duplex?: "half" } = { method: asked.method, headers, redirect: "error" };
    if (asked.signal) init.signal = asked.signal;
    if (asked.body !== undefined) init.body = asked.body;
    if (asked.body instanceof ReadableStream) init.duplex = "half";
    let response: Response;
    try {
      response = await this.fetch(url + asked.path, init);
    } catch (cause) {
      asked.signal?.throwIfAborted();
      if (!wasNotSent(cause)) return new FateUnknown(`the connection to ${url} broke; whether it was done is not known`, cause);
      this.moved();
      return new Unreachable(`the server at ${url} cannot be reached`, cause);
    }
    if (response.ok || response.status === 304) return response;
    const text = await response.text().catch(() => "");
    let problem: Record<string, unknown>;
    try {
      problem = JSON.parse(text) as Record<string, unknown>;
    } catch {
      problem = { detail: `${url} answered ${response.status} with something that is not Threadkeep's` };
    }
    const error = refused(response.status, problem);
    if (error instanceof Unauthorized && this.moved()) return new Unreachable(`the server at ${url} was started again`, error);
    retryAfters.set(error, Number(response.headers.get("retry-after") ?? 0) * 1_000);
    return error;
  }
}

const retryAfters = new WeakMap<Refused, number>();

function retryAfter(failure: ThreadkeepError): number {
  return failure instanceof Refused ? (retryAfters.get(failure) ?? 0) : 0;
}

/** Whether a failure of `fetch` says for sure that nothing was sent. */
function wasNotSent(cause: unknown): boolean {
  const code = (cause as { cause?: { code?: string } })?.cause?.code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "UND_ERR_CONNECT_TIMEOUT";
}

/** A path of a file from the root. `.` and `..` are resolved here, because addresses lose them on their way. */
export function rooted(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) throw new ThreadkeepError(`${path} leaves the thread`, "path_escapes_root");
  }
  return `/${segments.join("/")}`;
}

/** A path with its parameters. `{path}` keeps its slashes. */
export function filled(path: string, parts: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const keepsSlashes = name === "path" || name === "definition";
    const part = keepsSlashes ? rooted(parts[name] ?? "").slice(1) : parts[name];
    if (part === undefined || part === "") throw new ThreadkeepError(`${name} is missing`, "invalid_parameter");
    return keepsSlashes ? part.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(part);
  });
}

/** The query of a request: `?a=1&b=2`, or nothing. */
export function query(params: object | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      pairs.append(name, typeof one === "object" ? JSON.stringify(one) : String(one));
    }
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

/** Waits, unless the signal ends it. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
