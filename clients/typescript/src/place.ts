// Where the server is: given, from the environment, or from the file of a server that runs on this machine.

/** The address of a server and the key for it. */
export interface Place {
  url: string;
  key: string | undefined;
}

interface Host {
  env?: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => { readFileSync(path: string, encoding: "utf8"): string } | undefined;
}

const host = (globalThis as { process?: Host }).process;

/** What `server.json` in the data folder says. Browsers have no files; Node has them from 20.16 on. */
function said(folder: string): Partial<Place> {
  try {
    const text = host?.getBuiltinModule?.("node:fs")?.readFileSync(`${folder}/server.json`, "utf8");
    const { url, apiKey } = JSON.parse(text ?? "{}") as { url?: string; apiKey?: string };
    return { ...(url ? { url } : {}), ...(apiKey ? { key: apiKey } : {}) };
  } catch {
    return {};
  }
}

/** The place, as it is now. A server that was started again says in its file where it is and with which key. */
export function place(given: { url?: string; key?: string }): () => Place {
  const url = given.url || host?.env?.["THREADKEEP_SERVER"];
  const key = given.key || host?.env?.["THREADKEEP_KEY"];
  const folder = host?.env?.["THREADKEEP_DATA"] || "threadkeep-data";
  return () => {
    const file = url ? {} : said(folder);
    return { url: (url || file.url || "http://127.0.0.1:8473").replace(/\/+$/, ""), key: key || file.key };
  };
}
