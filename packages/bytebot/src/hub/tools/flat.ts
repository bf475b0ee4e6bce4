/** Keywords that say nothing of which values fit. */
const NOTES = new Set("title description default examples deprecated readOnly writeOnly $comment $schema".split(" "));
const OBJECT = new Set(["type", "properties", "required", "additionalProperties"]);

type Check = (value: unknown) => boolean;
const types = new Map<unknown, Check>([
  ["string", (value) => typeof value === "string"],
  ["boolean", (value) => typeof value === "boolean"],
  ["number", (value) => Number.isFinite(value)],
  ["integer", (value) => Number.isSafeInteger(value)],
]);

/**
 * Most tools take an object of plain fields: a check by hand of such a schema, or undefined for any other. True says that
 * the value fits; false says only that the validator has to look. Property-tested against the validator.
 */
export function flatCheck(schema: Record<string, unknown>): Check | undefined {
  const { type, properties = {}, required = [], additionalProperties: more = true } = schema;
  if (type !== "object" || typeof more !== "boolean" || !Object.keys(schema).every(isKnown)) return undefined;
  if (!isRecord(properties) || !Array.isArray(required)) return undefined;
  const fields = new Map<string, Check>();
  for (const [name, field] of Object.entries(properties)) {
    const check = isRecord(field) && Object.keys(field).every(isNote) ? types.get(field["type"]) : undefined;
    if (!check) return undefined;
    fields.set(name, check);
  }
  return (value) => {
    if (!isRecord(value)) return false;
    for (const name of required) if (!Object.hasOwn(value, name as string)) return false;
    for (const name in value) {
      const check = fields.get(name);
      if (check ? !check(value[name]) : !more) return false;
    }
    return true;
  };
}

function isKnown(keyword: string): boolean {
  return OBJECT.has(keyword) || NOTES.has(keyword);
}

function isNote(keyword: string): boolean {
  return keyword === "type" || NOTES.has(keyword);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
