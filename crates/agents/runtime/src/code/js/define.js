// `define*`: what the files of definitions export. Each only marks its argument, so that the host knows what it is.

const KIND = Symbol.for("threadkeep.kind");

const define = (kind) => (definition) => {
  if (typeof definition !== "object" || definition === null) throw new TypeError(`a ${kind} is defined by an object`);
  return Object.assign({ [KIND]: kind }, definition);
};

export const defineTool = define("tool");
export const defineEffect = define("effect");
export const defineHook = define("hook");
export const defineAgent = define("agent");
export const definePrompt = define("prompt");
export const defineModel = define("model");
export const defineProvider = define("provider");

/** An endpoint is a handler, or an object with one. */
export const defineThreadEndpoint = (definition) =>
  define("endpoint")(typeof definition === "function" ? { handler: definition } : definition);
export const defineEndpoint = defineThreadEndpoint;

export { z } from "zod";

/** An answer of an endpoint, in the shape of the web's `Response`. */
export class Response {
  constructor(body = "", { status = 200, headers = {} } = {}) {
    const given = typeof headers.entries === "function" ? Object.fromEntries(headers.entries()) : headers;
    this.isResponse = true;
    this.status = status;
    this.headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), String(value)]));
    this.body = body ?? "";
  }

  static json(value, { status = 200, headers = {} } = {}) {
    return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
  }
}
