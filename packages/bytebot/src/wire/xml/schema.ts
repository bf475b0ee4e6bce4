/** How a parameter's text is read: as it is, as JSON, or as JSON where that fits its schema, else as it is (rule XML-3). */
export type ValueKind = { read: "raw" } | { read: "json" } | { read: "either"; types: ReadonlySet<string> };

/** References followed before a schema counts as unknown. */
const MAX_STEPS = 8;

type Schema = Record<string, unknown>;

/** The kind of the parameter `key` of a tool with this `input_schema`. */
export function valueKind(schema: unknown, key: string): ValueKind {
  const types = typesOf(memberOf(schema, key), schema, MAX_STEPS);
  if (!types?.has("string")) return { read: "json" };
  return types.size === 1 ? { read: "raw" } : { read: "either", types };
}

function memberOf(schema: unknown, key: string): unknown {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key];
  return isObject(schema) ? schema["additionalProperties"] : undefined;
}

/** The types of JSON value that a schema allows; undefined where it does not say. */
function typesOf(schema: unknown, root: unknown, steps: number): Set<string> | undefined {
  if (!isObject(schema) || steps === 0) return undefined;
  const { type, $ref } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.map(String));
  if (typeof $ref === "string") return typesOf(definition($ref, root), root, steps - 1);
  if ("const" in schema) return new Set([typeOf(schema["const"])]);
  if (Array.isArray(schema["enum"])) return new Set(schema["enum"].map(typeOf));
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(choices)) return undefined;
  const each = choices.map((choice) => typesOf(choice, root, steps - 1));
  return each.includes(undefined) ? undefined : new Set(each.flatMap((types) => [...types!]));
}

/** `#/$defs/Name` and `#/definitions/Name`. */
function definition(ref: string, root: unknown): unknown {
  const [, group = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const all = isObject(root) ? root[group] : undefined;
  return isObject(all) && Object.hasOwn(all, name) ? all[name] : undefined;
}

/** As JSON Schema names it; a whole number is both "integer" and "number", and named "number". */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

export function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
