// Prepares the globals of a worker, and hands helpers to the host's side. Runs before any code that is not trusted, and
// holds on to the intrinsics that it needs: code may change them later.
(function (native) {
  "use strict";
  const { apply, defineProperty, getPrototypeOf, ownKeys } = Reflect;
  const method = (f) => (self, ...rest) => apply(f, self, rest);
  const [mapEach, setEach, join] = [method(Map.prototype.forEach), method(Set.prototype.forEach), method([].join)];
  const [dateTime, dateText] = [method(Date.prototype.getTime), method(Date.prototype.toISOString)];
  const [wellFormed, bigText] = [method("".toWellFormed), method(BigInt.prototype.toString)];
  const [symbolText, regexText] = [method(Symbol.prototype.toString), method(RegExp.prototype.toString)];
  const [M, S, D, B, E, P, stringify, keysOf, isArray] =
    [Map, Set, Date, BigInt, Error, Promise, JSON.stringify, Object.keys, Array.isArray];
  const text = String;
  const mapAdd = method(Map.prototype.set), setAdd = method(Set.prototype.add);

  // Code cannot be made from text.
  const refuse = (name) => ({
    [name]: function () {
      throw new EvalError("code generation from strings is not allowed");
    },
  })[name];
  for (const sample of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    const prototype = getPrototypeOf(sample);
    const constructor = refuse(prototype.constructor.name);
    defineProperty(constructor, "prototype", { value: prototype, writable: false });
    defineProperty(prototype, "constructor", { value: constructor, writable: false, configurable: false });
  }

  const keep = new S(
    ("globalThis Infinity NaN undefined isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI " +
      "encodeURIComponent escape unescape Object Boolean Symbol Error AggregateError EvalError RangeError " +
      "ReferenceError SyntaxError TypeError URIError SuppressedError InternalError Number BigInt Math Date String RegExp " +
      "Array Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array " +
      "BigUint64Array Float16Array Float32Array Float64Array Map Set WeakMap WeakSet ArrayBuffer DataView JSON WeakRef " +
      "FinalizationRegistry Iterator Promise Reflect Proxy DisposableStack AsyncDisposableStack").split(" "),
  );
  for (const key of ownKeys(globalThis)) {
    if (!keep.has(key) && typeof key === "string") delete globalThis[key];
  }
  const define = (name, value) =>
    defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
  define("eval", refuse("eval"));
  define("Function", function () {}.constructor);
  // These read as undefined, so that code can ask for them.
  const absent =
    "process require module exports global window self fetch URL URLSearchParams Headers Request Response WebSocket " +
    "XMLHttpRequest EventSource Worker WebAssembly crypto setTimeout setInterval setImmediate clearTimeout " +
    "clearInterval clearImmediate queueMicrotask structuredClone TextEncoder TextDecoder Atomics SharedArrayBuffer " +
    "navigator performance Intl Buffer Deno Bun";
  for (const name of absent.split(" ")) define(name, undefined);

  // The console.
  const MORE = 100, DEPTH = 4;
  const named = (value) => {
    const constructor = getPrototypeOf(value)?.constructor;
    return typeof constructor === "function" && constructor !== Object ? text(constructor.name) : "";
  };
  const list = (open, items, close, length) => {
    if (length > items.length) items[items.length] = `... ${length - items.length} more`;
    return items.length ? `${open} ${join(items, ", ")} ${close}` : open + close;
  };
  const shown = (value, inner, seen) => {
    switch (typeof value) {
      case "string": return inner ? stringify(value) : value;
      case "bigint": return `${value}n`;
      case "symbol": return symbolText(value);
      case "function": return `[function ${text(value.name) || "(anonymous)"}]`;
      case "object": break;
      default: return Object.is(value, -0) ? "-0" : text(value);
    }
    if (value === null) return "null";
    const kind = native.kind(value);
    if (kind === "date") return dateTime(value) === dateTime(value) ? dateText(value) : "Invalid Date";
    if (kind === "error") return value.stack ? `${value}\n${value.stack}` : `${value}`;
    if (kind === "regexp") return regexText(value);
    if (kind === "proxy" || kind === "promise") return `[${kind}]`;
    for (let at = seen; at; at = at.next) if (at.value === value) return "[circular]";
    const below = { value, next: seen, depth: (seen?.depth ?? 0) + 1 };
    const inside = (item) => shown(item, true, below);
    if (kind === "map" || kind === "set") {
      const items = [];
      let length = 0;
      const add = (item) => { if (length++ < MORE) items[items.length] = item(); };
      if (below.depth > DEPTH) return `[${kind}]`;
      if (kind === "map") mapEach(value, (item, key) => add(() => `${inside(key)} => ${inside(item)}`));
      else setEach(value, (item) => add(() => inside(item)));
      return list(kind === "map" ? `Map(${length}) {` : `Set(${length}) {`, items, "}", length);
    }
    const indexed = kind === "typed" || isArray(value);
    if (below.depth > DEPTH) return indexed ? "[array]" : "[object]";
    const items = [];
    if (indexed) {
      for (let i = 0; i < value.length && i < MORE; i++) items[i] = inside(value[i]);
      return (kind === "typed" ? named(value) + " " : "") + list("[", items, "]", value.length);
    }
    const keys = keysOf(value);
    for (let i = 0; i < keys.length && i < MORE; i++) items[i] = `${keys[i]}: ${inside(value[keys[i]])}`;
    const name = named(value);
    return (name ? name + " " : "") + list("{", items, "}", keys.length);
  };
  const safely = (value, inner) => {
    try {
      return shown(value, inner, undefined);
    } catch {
      return "[unreadable]";
    }
  };
  const line = (values) => {
    let out = "";
    for (let i = 0; i < values.length; i++) out += (i ? " " : "") + safely(values[i], false);
    return out;
  };
  const console = {};
  for (const level of ["log", "info", "warn", "error", "debug", "trace"]) {
    console[level] = { [level]: (...values) => native.log(level, line(values)) }[level];
  }
  console.dir = (value) => native.log("log", safely(value, true));
  console.assert = (holds, ...values) => {
    if (!holds) native.log("error", values.length ? `Assertion failed: ${line(values)}` : "Assertion failed");
  };
  define("console", console);
  define("report", (value) => native.report(value));

  // The first question after the time zone reads files, which is not possible later.
  new D().getTimezoneOffset();

  const constructors = {};
  for (const name of keep) if (/Array$/.test(name) && name !== "Array") constructors[name] = globalThis[name];
  return {
    start: async (f, args) => apply(f, undefined, args),
    settle: async (value) => value,
    pairs: (map) => {
      const out = [];
      let at = 0;
      mapEach(map, (value, key) => {
        defineProperty(out, at++, { value: key, configurable: true });
        defineProperty(out, at++, { value, configurable: true });
      });
      return out;
    },
    items: (set) => {
      const out = [];
      let at = 0;
      setEach(set, (value) => defineProperty(out, at++, { value, configurable: true }));
      return out;
    },
    time: (date) => dateTime(date),
    digits: (big) => bigText(big),
    wellFormed: (string) => wellFormed(string),
    big: (digits) => B(digits),
    date: (ms) => new D(ms),
    map: () => new M(),
    set: () => new S(),
    put: (map, key, value) => void mapAdd(map, key, value),
    add: (set, value) => void setAdd(set, value),
    typed: (name, buffer) => new constructors[name](buffer),
    error: (name, message) => {
      const error = new E(message);
      defineProperty(error, "name", { value: name, writable: true, configurable: true });
      return error;
    },
    text: (value) => safely(value, false),
  };
});
