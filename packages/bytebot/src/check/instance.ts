import { BytebotError } from "../wire/index.ts";

type Schema = Record<string, unknown>;

const MOST_DEPTH = 16;
const MOST_ITEMS = 100;
const MOST_VALUES = 10_000;

const formats: Record<string, string> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  uri: "https://example.com/",
  email: "a@example.com",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/**
 * The least value that a JSON Schema takes, as well as that can be told without its patterns: what is optional is left out.
 * Throws where it would hold more than 10,000 values.
 */
export function instanceOf(schema: unknown): unknown {
  return build(schema, { root: schema, left: MOST_VALUES }, 0);
}

interface Built {
  root: unknown;
  left: number;
}

function build(schema: unknown, built: Built, depth: number): unknown {
  if (built.left-- === 0) throw new BytebotError("too_large", `the schema asks for more than ${MOST_VALUES} values`);
  if (!isSchema(schema) || depth > MOST_DEPTH) return {};
  const at = (inner: unknown): unknown => build(inner, built, depth + 1);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  if ("default" in schema) return schema["default"];
  if (Array.isArray(schema["examples"]) && schema["examples"].length > 0) return schema["examples"][0];
  if (typeof schema["$ref"] === "string") return at(referred(schema["$ref"], built.root));
  for (const keyword of ["anyOf", "oneOf"]) {
    const choices = schema[keyword];
    if (Array.isArray(choices) && choices.length > 0)
      return at({ ...without(schema, keyword), ...asSchema(choices[0]) });
  }
  if (Array.isArray(schema["allOf"])) return at(schema["allOf"].reduce(merged, without(schema, "allOf")));
  const type = Array.isArray(schema["type"]) ? (schema["type"][0] as unknown) : schema["type"];
  switch (type) {
    case "string":
      return text(schema);
    case "integer":
    case "number":
      return number(schema, type === "integer");
    case "boolean":
      return false;
    case "null":
      return null;
    case "array":
      return Array.from({ length: Math.min(count(schema["minItems"]), MOST_ITEMS) }, (_, index) =>
        at((schema["prefixItems"] as unknown[] | undefined)?.[index] ?? schema["items"]),
      );
    default:
      return object(schema, at);
  }
}

function object(schema: Schema, at: (inner: unknown) => unknown): Schema {
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const properties = asSchema(schema["properties"]);
  return Object.fromEntries(
    required.map((name) => [name, at(Object.hasOwn(properties, name) ? properties[name] : { type: "string" })]),
  );
}

function text({ format, minLength }: Schema): string {
  const start = (typeof format === "string" && Object.hasOwn(formats, format) && formats[format]) || "a";
  return start.padEnd(Math.min(count(minLength), 10_000), "a");
}

function number({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Schema, whole: boolean): number {
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : 1;
  const low = typeof exclusiveMinimum === "number" ? exclusiveMinimum + (whole ? step : 1e-3) : minimum;
  if (typeof low === "number") return whole || multipleOf !== undefined ? Math.ceil(low / step) * step : low;
  const high = typeof exclusiveMaximum === "number" ? exclusiveMaximum - (whole ? step : 1e-3) : maximum;
  return typeof high === "number" && high < 1 ? Math.floor(high / step) * step : step;
}

/** Of this document: `#/$defs/x`. */
function referred(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return {};
  let found: unknown = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isSchema(found) && Object.hasOwn(found, key) ? found[key] : {};
  }
  return found;
}

function merged(into: Schema, part: unknown): Schema {
  const { required = [], properties, ...rest } = asSchema(part);
  return {
    ...into,
    ...rest,
    properties: { ...asSchema(into["properties"]), ...asSchema(properties) },
    required: [...((into["required"] ?? []) as unknown[]), ...(required as unknown[])],
  };
}

function without(schema: Schema, keyword: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== keyword));
}

function asSchema(value: unknown): Schema {
  return isSchema(value) ? value : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function count(value: unknown): number {
  return typeof value === "number" && value > 0 ? Math.ceil(value) : 0;
}
