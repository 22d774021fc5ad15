// A thread over a WebSocket, for browsers.

import type { ServerSent } from "./sse.js";

/** Whether this is a browser. Elsewhere a stream costs no place among few connections. */
export const hasSockets = (): boolean => "document" in globalThis && "WebSocket" in globalThis;

/** Opens a socket and gives its frames as events; nothing if it is refused. An entry has its version as its id. */
export async function frames(url: string, signal: AbortSignal | undefined): Promise<AsyncIterable<ServerSent> | undefined> {
  const socket = new WebSocket(url.replace(/^http/, "ws"));
  const came: string[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  const news = () => new Promise<void>((done) => (wake = done));
  socket.onmessage = ({ data }) => {
    came.push(String(data));
    wake();
  };
  const close = () => socket.close();
  signal?.addEventListener("abort", close);
  socket.onclose = () => {
    signal?.removeEventListener("abort", close);
    isOver = true;
    wake();
  };
  const isOpen = await new Promise<boolean>((done) => {
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
  });
  if (!isOpen) return undefined;
  return (async function* () {
    try {
      for (;;) {
        const data = came.shift();
        if (data !== undefined) yield told(data);
        else if (isOver) return;
        else await news();
      }
    } finally {
      socket.close();
    }
  })();
}

function told(data: string): ServerSent {
  const { version, event, kind } = JSON.parse(data) as { version?: number; event?: string; kind?: string };
  // Events that come beside an entry have its version too, but no place of their own.
  const isEntry = version !== undefined && event === undefined;
  return { id: isEntry ? String(version) : undefined, event: event ?? kind ?? "message", data };
}
