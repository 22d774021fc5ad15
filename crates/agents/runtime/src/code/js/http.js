// `threadkeep/http`: requests to the hosts that the definition lists.

import * as host from "threadkeep/host";

const decoded = (bytes) => {
  let escaped = "";
  for (const byte of new Uint8Array(bytes)) escaped += `%${byte.toString(16).padStart(2, "0")}`;
  return decodeURIComponent(escaped);
};

export async function fetch(url, { method = "GET", headers = {}, body = "" } = {}) {
  const answer = await host.fetch({ url: String(url), method, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
  const text = () => decoded(answer.body);
  return {
    ok: answer.status >= 200 && answer.status < 300,
    status: answer.status,
    headers: { get: (name) => answer.headers[String(name).toLowerCase()] ?? null },
    text: async () => text(),
    json: async () => JSON.parse(text()),
    arrayBuffer: async () => answer.body,
  };
}

export default fetch;
