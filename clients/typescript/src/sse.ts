// Server-sent events from bytes that are cut anywhere.

/** An event of a stream. */
export interface ServerSent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Reads events until the body ends. Silence for longer than `silenceMs` ends it too. */
export async function* events(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<ServerSent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let open = { id: undefined as string | undefined, event: "message", data: [] as string[] };
  try {
    for (;;) {
      const piece = await within(silenceMs, reader.read());
      if (piece === undefined || piece.done) return;
      text += decoder.decode(piece.value, { stream: true });
      // A carriage return at the end may be half of a line end.
      const held = text.endsWith("\r") ? 1 : 0;
      const lines = text.slice(0, text.length - held).split(/\r\n|\r|\n/);
      text = (lines.pop() ?? "") + text.slice(text.length - held);
      for (const line of lines) {
        if (line === "") {
          if (open.data.length > 0) yield { id: open.id, event: open.event, data: open.data.join("\n") };
          open = { id: undefined, event: "message", data: [] };
          continue;
        }
        const colon = line.indexOf(":");
        if (colon === 0) continue;
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "id") open.id = value;
        else if (field === "event") open.event = value;
        else if (field === "data") open.data.push(value);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The result, or nothing after so many milliseconds. */
function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
