// Files of a thread: written, read, listed.

import type { Deleted, FileRecord, FileStats, Grepped, FileVersion } from "./printed/types.js";
import { filled, Paged, query, rooted, type Options, type Page, type Way } from "./way.js";

type Changing = Options<"expectedVersion" | "ifAbsent" | "writer" | "idempotencyKey">;

/** What a file is written with. */
export interface WriteFileOptions {
  mimeType?: string;
  metadata?: object;
  width?: number;
  height?: number;
  /** A small picture of it. */
  thumbnail?: Uint8Array;
}

/** Which state of a file is read: the present one, unless named. */
export interface FileAt {
  /** The version of the file. */
  version?: number;
  /** As the thread was at this version. */
  asOf?: number;
}

/** The files of threads. */
export class Files {
  constructor(private readonly way: Way) {}

  /** Writes a file, whole or not at all. A stream is sent once; all else again where that is safe. */
  async write(
    thread: string,
    path: string,
    content: string | Uint8Array | Blob | ReadableStream<Uint8Array>,
    file: WriteFileOptions = {},
    options: Changing = {},
  ): Promise<FileRecord> {
    const headers = conditions(options);
    if (file.mimeType) headers["Content-Type"] = file.mimeType;
    if (file.metadata) headers["Threadkeep-Metadata"] = ascii(JSON.stringify(file.metadata));
    if (file.thumbnail) headers["Threadkeep-Thumbnail"] = base64(file.thumbnail);
    const isStream = content instanceof ReadableStream;
    if (!isStream) headers["Idempotency-Key"] ??= globalThis.crypto.randomUUID();
    const at = filled("/v1/threads/{thread}/files/{path}", { thread, path });
    // A `fetch` gives text a type of its own, which would become the file's.
    const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const response = await this.way.send({
      method: "PUT",
      path: at + query({ width: file.width, height: file.height }),
      headers,
      body: body as BodyInit,
      repeats: !isStream,
      signal: options.signal,
      actor: options.actor,
    });
    return (await response.json()) as FileRecord;
  }

  /** The whole content of a file. */
  async read(thread: string, path: string, at: FileAt = {}, options: Options = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(thread, path, at, options)).arrayBuffer());
  }

  /** The content of a file as text. */
  async text(thread: string, path: string, at: FileAt = {}, options: Options = {}): Promise<string> {
    return (await this.open(thread, path, at, options)).text();
  }

  /** The answer itself, whose `body` comes as it is read. `range` is a part of the file, such as `bytes=0-99`. */
  open(thread: string, path: string, at: FileAt & { range?: string } = {}, options: Options = {}): Promise<Response> {
    const { range, ...which } = at;
    return this.get(thread, path, { ...which }, options, range === undefined ? {} : { Range: range });
  }

  /** What is known of a file. */
  async stat(thread: string, path: string, at: FileAt = {}, options: Options = {}): Promise<FileRecord> {
    return (await (await this.get(thread, path, { ...at, stat: true }, options)).json()) as FileRecord;
  }

  /** The small picture of a file. */
  async thumbnail(thread: string, path: string, edge?: number, options: Options = {}): Promise<Uint8Array> {
    const response = await this.get(thread, path, { thumbnail: edge ?? "" }, options);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The versions of a file. */
  versions(thread: string, path: string, options: Options = {}): Paged<FileVersion> {
    return new Paged(async (cursor) => {
      const response = await this.get(thread, path, { versions: true, cursor }, options);
      return (await response.json()) as Page<FileVersion>;
    });
  }

  /** All files below a folder. */
  list(thread: string, params: { below?: string; limit?: number; asOf?: number } = {}, options: Options = {}): Paged<FileRecord> {
    return new Paged(async (cursor) => (await this.tree<Page<FileRecord>>(thread, { ...params, cursor }, options)) as Page<FileRecord>);
  }

  /** What is directly in a folder: folders first, then by name. */
  async readdir(thread: string, path = "/", params: { asOf?: number } = {}, options: Options = {}): Promise<FileRecord[]> {
    const asked = { ...params, list: true, below: rooted(path) };
    return (await this.tree<{ entries: FileRecord[] }>(thread, asked, options)).entries;
  }

  /** Lines that hold a text, or match a regular expression. */
  grep(
    thread: string,
    pattern: string,
    params: { regex?: boolean; glob?: string; ignoreCase?: boolean | "smart"; limit?: number } = {},
    options: Options = {},
  ): Promise<Grepped> {
    return this.tree(thread, { grep: pattern, ...params }, options);
  }

  /** The paths that match a glob: `*` stays within a folder, `**` crosses. */
  async find(thread: string, glob: string, params: { limit?: number; asOf?: number } = {}, options: Options = {}): Promise<string[]> {
    return (await this.tree<{ paths: string[] }>(thread, { find: glob, ...params }, options)).paths;
  }

  /** Counts and sizes. */
  stats(thread: string, options: Options = {}): Promise<FileStats> {
    return this.tree(thread, { stats: true }, options);
  }

  /** Deletes a file; false if there is none. */
  async delete(thread: string, path: string, options: Changing = {}): Promise<boolean> {
    return (await this.change<Deleted>("DELETE", thread, path, {}, options)).deleted;
  }

  /** Makes a folder, and those above it. */
  mkdir(thread: string, path: string, options: Changing = {}): Promise<FileRecord> {
    return this.change("POST", thread, path, { mkdir: true }, options);
  }

  /** Removes an empty folder; false if there is none. */
  async rmdir(thread: string, path: string, options: Changing = {}): Promise<boolean> {
    return (await this.change<Deleted>("DELETE", thread, path, { rmdir: true }, options)).deleted;
  }

  /** Moves a file or a folder. */
  async move(thread: string, path: string, to: string, options: Changing = {}): Promise<void> {
    await this.change("POST", thread, path, { moveTo: to }, options);
  }

  private get(thread: string, path: string, params: object, options: Options, headers: Record<string, string> = {}): Promise<Response> {
    const at = filled("/v1/threads/{thread}/files/{path}", { thread, path });
    headers = { Accept: "*/*", ...headers };
    return this.way.send({ method: "GET", path: at + query(params), headers, repeats: true, signal: options.signal, actor: options.actor });
  }

  private async tree<Answer>(thread: string, params: object, options: Options): Promise<Answer> {
    const path = filled("/v1/threads/{thread}/files", { thread }) + query(params);
    const response = await this.way.send({ method: "GET", path, repeats: true, signal: options.signal, actor: options.actor });
    return (await response.json()) as Answer;
  }

  private async change<Answer>(method: string, thread: string, path: string, params: object, options: Changing): Promise<Answer> {
    const headers = conditions(options);
    headers["Idempotency-Key"] ??= globalThis.crypto.randomUUID();
    const at = filled("/v1/threads/{thread}/files/{path}", { thread, path }) + query(params);
    const response = await this.way.send({ method, path: at, headers, repeats: true, signal: options.signal, actor: options.actor });
    return (await response.json()) as Answer;
  }
}

function conditions(options: Changing): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.expectedVersion !== undefined) headers["If-Match"] = `"${options.expectedVersion}"`;
  if (options.ifAbsent) headers["If-None-Match"] = "*";
  if (options.writer !== undefined) headers["Threadkeep-Writer"] = options.writer;
  if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
  return headers;
}

/** JSON in a header: characters beyond ASCII are escaped. */
function ascii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
