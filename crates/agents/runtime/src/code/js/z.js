// A small `z`: the part of zod that tools use to say what their arguments are. Each schema checks values, and says itself as
// a JSON schema.

class Schema {
  constructor(kind, json, check) {
    this.kind = kind;
    this.json = json;
    this.check = check;
    this.steps = [];
    this.isOptional = false;
  }

  with(change) {
    const made = Object.assign(Object.create(Object.getPrototypeOf(this)), this);
    made.steps = [...this.steps];
    change(made);
    return made;
  }

  step(step, json) {
    return this.with((made) => {
      made.steps.push(step);
      if (json) made.json = { ...this.json, ...json };
    });
  }

  test(passes, message, json) {
    return this.step((value, path, wrong) => {
      if (!passes(value)) wrong(path, message);
      return value;
    }, json);
  }

  run(value, path, wrong) {
    if (value === undefined && this.fallback) value = this.fallback();
    if (value === undefined && this.isOptional) return undefined;
    if (value === null && this.isNullable) return null;
    const before = wrong.count;
    let read = this.check(value, path, wrong);
    for (const step of this.steps) {
      if (wrong.count !== before) break;
      read = step(read, path, wrong);
    }
    return read;
  }

  safeParse(value) {
    const issues = [];
    const wrong = (path, message) => {
      issues.push({ path, message });
      wrong.count = issues.length;
    };
    wrong.count = 0;
    const data = this.run(value, [], wrong);
    return issues.length === 0 ? { success: true, data } : { success: false, error: new ZodError(issues) };
  }

  parse(value) {
    const read = this.safeParse(value);
    if (!read.success) throw read.error;
    return read.data;
  }

  optional() {
    return this.with((made) => (made.isOptional = true));
  }
  nullable() {
    return this.with((made) => {
      made.isNullable = true;
      made.json = { anyOf: [this.json, { type: "null" }] };
    });
  }
  nullish() {
    return this.nullable().optional();
  }
  default(value) {
    return this.with((made) => {
      made.isOptional = true;
      made.fallback = typeof value === "function" ? value : () => value;
      if (typeof value !== "function") made.json = { ...this.json, default: value };
    });
  }
  describe(description) {
    return this.with((made) => (made.json = { ...this.json, description }));
  }
  refine(passes, message) {
    const text = typeof message === "string" ? message : message?.message;
    return this.test(passes, text ?? "is not valid");
  }
  transform(change) {
    return this.step((value) => change(value));
  }
  array() {
    return z.array(this);
  }
  or(other) {
    return z.union([this, other]);
  }
  toJSONSchema() {
    return this.json;
  }

  // Strings, numbers and lists.
  min(least, message) {
    const [field, size] = sized(this.kind, "min");
    return this.test((value) => size(value) >= least, message ?? `is less than ${least}`, { [field]: least });
  }
  max(most, message) {
    const [field, size] = sized(this.kind, "max");
    return this.test((value) => size(value) <= most, message ?? `is more than ${most}`, { [field]: most });
  }
  length(length, message) {
    return this.min(length, message).max(length, message);
  }
  nonempty(message) {
    return this.min(1, message ?? "is empty");
  }
  regex(pattern, message) {
    return this.test((value) => pattern.test(value), message ?? `does not match ${pattern.source}`, { pattern: pattern.source });
  }
  email(message) {
    return this.test((value) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value), message ?? "is no e-mail address", { format: "email" });
  }
  url(message) {
    return this.test((value) => /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+/i.test(value), message ?? "is no URL", { format: "uri" });
  }
  uuid(message) {
    return this.test((value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value), message ?? "is no UUID", { format: "uuid" });
  }
  startsWith(begin, message) {
    return this.test((value) => value.startsWith(begin), message ?? `does not begin with ${begin}`);
  }
  endsWith(end, message) {
    return this.test((value) => value.endsWith(end), message ?? `does not end with ${end}`);
  }
  includes(part, message) {
    return this.test((value) => value.includes(part), message ?? `does not contain ${part}`);
  }
  trim() {
    return this.step((value) => value.trim());
  }
  toLowerCase() {
    return this.step((value) => value.toLowerCase());
  }
  toUpperCase() {
    return this.step((value) => value.toUpperCase());
  }
  int(message) {
    return this.test(Number.isInteger, message ?? "is no whole number", { type: "integer" });
  }
  gt(least, message) {
    return this.test((value) => value > least, message ?? `is not above ${least}`, { exclusiveMinimum: least });
  }
  gte(least, message) {
    return this.min(least, message);
  }
  lt(most, message) {
    return this.test((value) => value < most, message ?? `is not below ${most}`, { exclusiveMaximum: most });
  }
  lte(most, message) {
    return this.max(most, message);
  }
  positive(message) {
    return this.gt(0, message);
  }
  negative(message) {
    return this.lt(0, message);
  }
  nonnegative(message) {
    return this.min(0, message);
  }
  nonpositive(message) {
    return this.max(0, message);
  }
  finite() {
    return this;
  }
  multipleOf(part, message) {
    return this.test((value) => value % part === 0, message ?? `is no multiple of ${part}`, { multipleOf: part });
  }

  // Objects.
  strict() {
    return objects(this.shape, "strict");
  }
  passthrough() {
    return objects(this.shape, "passthrough");
  }
  strip() {
    return objects(this.shape, "strip");
  }
  extend(more) {
    return objects({ ...this.shape, ...more }, this.unknown);
  }
  merge(other) {
    return this.extend(other.shape);
  }
  pick(names) {
    return objects(filtered(this.shape, (name) => names[name]), this.unknown);
  }
  omit(names) {
    return objects(filtered(this.shape, (name) => !names[name]), this.unknown);
  }
  partial() {
    const loose = Object.entries(this.shape).map(([name, schema]) => [name, schema.optional()]);
    return objects(Object.fromEntries(loose), this.unknown);
  }
}

class ZodError extends Error {
  constructor(issues) {
    super(issues.map(({ path, message }) => `${place(path)} ${message}`).join("; "));
    this.name = "ZodError";
    this.issues = issues;
    this.errors = issues;
  }
}

const place = (path) => (path.length === 0 ? "the value" : path.map(String).join("."));

const sized = (kind, end) =>
  kind === "string"
    ? [`${end}Length`, (value) => value.length]
    : kind === "array"
      ? [`${end}Items`, (value) => value.length]
      : [`${end}imum`, (value) => value];

const filtered = (shape, keeps) => Object.fromEntries(Object.entries(shape).filter(([name]) => keeps(name)));

const plain = (kind, json, is, what) =>
  new Schema(kind, json, (value, path, wrong) => {
    if (!is(value)) wrong(path, `is no ${what}`);
    return value;
  });

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function objects(shape, unknown) {
  const properties = Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.json]));
  const required = Object.keys(shape).filter((name) => !shape[name].isOptional);
  const json = { type: "object", properties, ...(required.length ? { required } : {}) };
  if (unknown === "strict") json.additionalProperties = false;
  const made = new Schema("object", json, (value, path, wrong) => {
    if (!isObject(value)) {
      wrong(path, "is no object");
      return value;
    }
    const read = {};
    for (const [name, schema] of Object.entries(shape)) {
      if (value[name] === undefined && !schema.isOptional) {
        wrong([...path, name], "is missing");
        continue;
      }
      const field = schema.run(value[name], [...path, name], wrong);
      if (field !== undefined) read[name] = field;
    }
    for (const name of Object.keys(value)) {
      if (name in shape) continue;
      if (unknown === "strict") wrong([...path, name], "is not known");
      if (unknown === "passthrough") read[name] = value[name];
    }
    return read;
  });
  made.shape = shape;
  made.unknown = unknown;
  return made;
}

const literal = (value) =>
  new Schema("literal", { const: value }, (given, path, wrong) => {
    if (given !== value) wrong(path, `is not ${JSON.stringify(value)}`);
    return given;
  });

export const z = {
  string: () => plain("string", { type: "string" }, (value) => typeof value === "string", "text"),
  number: () => plain("number", { type: "number" }, (value) => typeof value === "number" && Number.isFinite(value), "number"),
  int: () => z.number().int(),
  boolean: () => plain("boolean", { type: "boolean" }, (value) => typeof value === "boolean", "boolean"),
  null: () => literal(null),
  undefined: () => plain("undefined", {}, (value) => value === undefined, "undefined").optional(),
  any: () => new Schema("any", {}, (value) => value).optional(),
  unknown: () => new Schema("unknown", {}, (value) => value).optional(),
  literal,
  enum: (values) => {
    const made = new Schema("enum", { type: "string", enum: [...values] }, (value, path, wrong) => {
      if (!values.includes(value)) wrong(path, `is none of ${values.join(", ")}`);
      return value;
    });
    made.options = values;
    return made;
  },
  array: (of) =>
    new Schema("array", { type: "array", items: of.json }, (value, path, wrong) => {
      if (!Array.isArray(value)) {
        wrong(path, "is no list");
        return value;
      }
      return value.map((item, index) => of.run(item, [...path, index], wrong));
    }),
  tuple: (items) =>
    new Schema(
      "tuple",
      { type: "array", prefixItems: items.map((item) => item.json), minItems: items.length, maxItems: items.length },
      (value, path, wrong) => {
        if (!Array.isArray(value) || value.length !== items.length) {
          wrong(path, `is no list of ${items.length}`);
          return value;
        }
        return items.map((item, index) => item.run(value[index], [...path, index], wrong));
      },
    ),
  record: (first, second) => {
    const of = second ?? first;
    return new Schema("record", { type: "object", additionalProperties: of.json }, (value, path, wrong) => {
      if (!isObject(value)) {
        wrong(path, "is no object");
        return value;
      }
      const fields = Object.entries(value).map(([name, field]) => [name, of.run(field, [...path, name], wrong)]);
      return Object.fromEntries(fields);
    });
  },
  union: (all) =>
    new Schema("union", { anyOf: all.map((one) => one.json) }, (value, path, wrong) => {
      for (const one of all) {
        const read = one.safeParse(value);
        if (read.success) return read.data;
      }
      wrong(path, "matches none of the alternatives");
      return value;
    }),
  discriminatedUnion: (_, all) => z.union(all),
  object: (shape) => objects(shape, "strip"),
  strictObject: (shape) => objects(shape, "strict"),
  looseObject: (shape) => objects(shape, "passthrough"),
  toJSONSchema: (schema) => schema.json,
};

export { ZodError };
export default z;
