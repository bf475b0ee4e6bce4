type Json = Record<string, unknown>;

/** Characters and steps: some hundred properties. What a longer grammar costs at each token grows faster than it does. */
const MAX_WORK = 32 * 1024;
const MAX_DEPTH = 64;
/** llama.cpp unrolls counts: of a larger one only "any number" is kept. */
const MAX_COUNT = 200;
const NEXT = `"," " "?`;

/** Any JSON value. A length of numbers is set: a small model else writes digits for ever. */
const JSON_RULES = `value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ":" " "? value (${NEXT} string ":" " "? value)*)? "}"
array ::= "[" (value (${NEXT} value)*)? "]"
string ::= "\\"" char* "\\""
char ::= [^"\\\\\\x00-\\x1F\\x7F] | "\\\\" ["\\\\/bfnrt]
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?`;

/**
 * JSON Schema 2020-12 → GBNF, llama.cpp's form of a grammar: of the JSON texts that fit the schema, without white space
 * (but for one blank after `:` and `,`), properties in the schema's order. It says type, properties, required,
 * additionalProperties where there are no properties, items, lengths, enum, const, anyOf, oneOf, allOf of objects and
 * `$ref` within the schema, recursive ones too; not ranges, patterns and formats. A schema of hostile size is any JSON.
 */
export function toGbnf(schema: Json): string {
  try {
    return new Grammar(schema).text;
  } catch (error) {
    if (error instanceof TooLarge) return `root ::= value\n${JSON_RULES}`;
    throw error;
  }
}

/** `text` as a terminal. */
export function literal(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
  return `"${escaped}"`;
}

class TooLarge extends Error {}

class Grammar {
  readonly text: string;
  private readonly root: Json;
  private readonly rules: string[] = [];
  /** Objects and arrays have a rule each, so that a schema that holds itself ends, and rules begin with a terminal. */
  private readonly objects = new Map<Json, string>();
  private readonly arrays = new Map<Json, string>();
  private work = 0;
  private depth = 0;

  constructor(root: Json) {
    this.root = root;
    const start = this.value(root);
    this.text = [`root ::= ${start}`, ...this.rules, JSON_RULES].join("\n");
  }

  private spend(steps: number): void {
    this.work += steps;
    if (this.work > MAX_WORK || this.depth > MAX_DEPTH) throw new TooLarge();
  }

  private value(schema: unknown): string {
    this.depth += 1;
    const found = [...new Set(this.alternatives(schema, new Set()))];
    this.depth -= 1;
    if (found.length < 2) return found[0] ?? "value";
    return `(${found.join(" | ")})`;
  }

  /** What a value may be. A choice of choices is one choice; one that leads back to itself adds nothing. */
  private alternatives(schema: unknown, seen: Set<unknown>): string[] {
    this.spend(10);
    if (!isRecord(schema)) return ["value"];
    if (seen.has(schema)) return [];
    seen.add(schema);
    const ref = schema["$ref"];
    if (typeof ref === "string") return this.deeper(() => this.alternatives(this.target(ref), seen));
    if ("const" in schema) return [this.json(schema["const"])];
    if (Array.isArray(schema["enum"])) return schema["enum"].map((one) => this.json(one));
    const options = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(options)) return this.deeper(() => options.flatMap((option) => this.alternatives(option, seen)));
    const whole = Array.isArray(schema["allOf"]) ? this.joined(schema) : schema;
    const type = whole["type"] ?? ("properties" in whole ? "object" : "items" in whole ? "array" : undefined);
    return [type].flat().map((one) => this.typed(one, whole, schema));
  }

  private typed(type: unknown, schema: Json, key: Json): string {
    switch (type) {
      case "object":
        return this.rule(this.objects, key, (name) => this.object(schema, name));
      case "array":
        return this.rule(this.arrays, key, () => this.array(schema));
      case "string":
        return `"\\"" char${counts(schema, "minLength", "maxLength")} "\\""`;
      case "boolean":
        return `("true" | "false")`;
      case "null":
        return `"null"`;
      case "integer":
      case "number":
        return type;
      default:
        return "value";
    }
  }

  private rule(known: Map<Json, string>, key: Json, body: (name: string) => string): string {
    const before = known.get(key);
    if (before !== undefined) return before;
    const name = `r${this.objects.size + this.arrays.size}`;
    known.set(key, name);
    this.add(name, body(name));
    return name;
  }

  private add(name: string, body: string): void {
    const line = `${name} ::= ${body}`;
    this.spend(line.length);
    this.rules.push(line);
  }

  /** Those before the first required one may be left out, so each of them may come first; behind it a rule a property. */
  private object(schema: Json, name: string): string {
    const properties = Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {});
    if (properties.length === 0) return this.map(schema["additionalProperties"]);
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const pairs = properties.map(([key, value]) => `${this.json(key)} ":" " "? ${this.value(value)}`);
    for (const [at, [key]] of properties.entries()) {
      const pair = `${NEXT} ${pairs[at]}`;
      this.add(`${name}-${at}`, `${required.has(key) ? pair : `(${pair})?`} ${rest(name, at + 1, pairs.length)}`);
    }
    const must = properties.findIndex(([key]) => required.has(key));
    const firsts = pairs.slice(0, must < 0 ? undefined : must + 1);
    const starts = firsts.map((pair, at) => `${pair} ${rest(name, at + 1, pairs.length)}`);
    return `"{" (${starts.join(" | ")})${must < 0 ? "?" : ""} "}"`;
  }

  private map(values: unknown): string {
    if (values === false) return `"{}"`;
    const pair = `string ":" " "? ${this.value(values)}`;
    return `"{" (${pair} (${NEXT} ${pair})*)? "}"`;
  }

  private array(schema: Json): string {
    const item = this.value(schema["items"]);
    const [least, most] = bounds(schema, "minItems", "maxItems");
    if (most === 0) return `"[]"`;
    const more = `(${NEXT} ${item}){${Math.max(0, least - 1)},${most === undefined ? "" : most - 1}}`;
    return `"[" (${item} ${more})${least === 0 ? "?" : ""} "]"`;
  }

  private json(value: unknown): string {
    const text = JSON.stringify(value);
    this.spend(text.length);
    return literal(text);
  }

  private deeper<T>(work: () => T): T {
    this.depth += 1;
    const done = work();
    this.depth -= 1;
    return done;
  }

  /** What `#/…` points to. */
  private target(ref: string): unknown {
    this.spend(ref.length);
    if (ref !== "#" && !ref.startsWith("#/")) return undefined;
    const keys = ref
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    return keys.reduce<unknown>(
      (at, key) => (isContainer(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      this.root,
    );
  }

  /** An object that has to fit several schemas has the properties of them all. */
  private joined({ allOf, ...own }: Json): Json {
    const properties = new Map<string, unknown>();
    const required: unknown[] = [];
    let whole: Json = {};
    for (const one of [own, ...(allOf as unknown[])]) {
      const part = isRecord(one) && typeof one["$ref"] === "string" ? this.target(one["$ref"]) : one;
      if (!isRecord(part)) continue;
      whole = { ...part, ...whole };
      if (Array.isArray(part["required"])) required.push(...(part["required"] as unknown[]));
      const its = Object.entries(isRecord(part["properties"]) ? part["properties"] : {});
      this.spend(10 + 10 * its.length + 10 * required.length);
      for (const [key, value] of its) if (!properties.has(key)) properties.set(key, value);
    }
    return { ...whole, required, ...(properties.size > 0 ? { properties: Object.fromEntries(properties) } : {}) };
  }
}

function rest(name: string, at: number, length: number): string {
  return at < length ? `${name}-${at}` : "";
}

function counts(schema: Json, low: string, high: string): string {
  const [least, most] = bounds(schema, low, high);
  return `{${least},${most ?? ""}}`;
}

function bounds(schema: Json, low: string, high: string): [least: number, most: number | undefined] {
  const count = (key: string) => {
    const value = schema[key];
    return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : undefined;
  };
  const least = count(low) ?? 0;
  const most = count(high);
  return [least, most !== undefined && most < least ? least : most];
}

function isRecord(value: unknown): value is Json {
  return isContainer(value) && !Array.isArray(value);
}

function isContainer(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}
