import { BytebotError } from "./errors.ts";

const SEGMENT = /^(?:[A-Za-z0-9._@:-]|%[0-9A-F]{2}){1,128}$/;
/** The scopes that need no second look: no escape, no segment that begins with a dot. */
const PLAIN = /^[A-Za-z0-9_@:-][A-Za-z0-9._@:-]{0,127}(?:\/~?[A-Za-z0-9_@:-][A-Za-z0-9._@:-]{0,127}){0,7}$/;
const MAX_BYTES = 512;
const MAX_SEGMENTS = 8;

/**
 * Is this the app enclosure's path: 1 to 8 segments joined by "/", each 1 to 128 characters of the scope alphabet,
 * never "." or "..", no escape of what needs none; only a later segment may begin with one "~" (rules SCP-1 to SCP-4).
 */
export function isScope(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_BYTES) return false;
  if (PLAIN.test(value)) return true;
  const segments = value.split("/");
  if (segments.length > MAX_SEGMENTS) return false;
  return segments.every((segment, index) =>
    isSegment(index > 0 && segment.startsWith("~") ? segment.slice(1) : segment),
  );
}

function isSegment(segment: string): boolean {
  if (segment === "." || segment === "..") return false;
  if (!SEGMENT.test(segment)) return false;
  if (!segment.includes("%")) return true;
  // Two spellings of one name would be two scopes: an escape must be the only way to write its byte.
  try {
    return encodeSegment(decodeURIComponent(segment)) === segment;
  } catch {
    return false; // not UTF-8
  }
}

/** Any text (a user id, say) as one scope segment: what is outside the alphabet becomes %XX, so no id can become a path. */
export function encodeSegment(text: string): string {
  // Every broken character would become the same U+FFFD, and two users one tenant.
  if (!text.isWellFormed()) throw new BytebotError("invalid_params", "an id with half a character makes no scope");
  if (text === "." || text === "..") return text.replaceAll(".", "%2E");
  let segment = "";
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    segment += /[A-Za-z0-9._@:-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return segment;
}

/** The scope of these segments, each encoded. Throws `invalid_params` where they make none. */
export function toScope(segments: string | readonly string[]): string {
  const scope = (typeof segments === "string" ? [segments] : segments).map(encodeSegment).join("/");
  if (!isScope(scope)) {
    throw new BytebotError(
      "invalid_params",
      `${JSON.stringify(segments)} makes no scope: 1 to 8 parts of 1 to 128 bytes, 512 in all`,
    );
  }
  return scope;
}

/** Does `outer` enclose `inner`? Segment by segment: `a` encloses `a` and `a/b`, not `ab`. "*" encloses all (rule SCP-5). */
export function encloses(outer: string, inner: string): boolean {
  if (outer === "*") return true;
  for (let at = 0; ;) {
    // What comes before `at` is the same in both, so that equal segments end at the same place.
    const end = segmentEnd(outer, at);
    if (end !== segmentEnd(inner, at) || outer.slice(at, end) !== inner.slice(at, end)) return false;
    if (end === outer.length) return true;
    at = end + 1;
  }
}

function segmentEnd(scope: string, from: number): number {
  const end = scope.indexOf("/", from);
  return end === -1 ? scope.length : end;
}

/** May a grant of these scopes touch this one? The first of the two checks of the wall. */
export function within(scopes: readonly string[], scope: string): boolean {
  return scopes.some((granted) => encloses(granted, scope));
}

/** Every scope that encloses this one, from the widest, "*", to itself. */
export function prefixesOf(scope: string): string[] {
  if (scope === "*") return ["*"];
  const segments = scope.split("/");
  return ["*", ...segments.map((_, index) => segments.slice(0, index + 1).join("/"))];
}

/** These scopes, each once, without those that another of them encloses. */
export function widest(scopes: readonly string[]): string[] {
  const all = new Set(scopes);
  return [...all].filter((scope) => !prefixesOf(scope).some((prefix) => prefix !== scope && all.has(prefix)));
}

/** Does a grant of the scopes `outer` enclose all of `inner`? */
export function covers(outer: readonly string[], inner: readonly string[]): boolean {
  const all = new Set(outer);
  return inner.every((scope) => prefixesOf(scope).some((prefix) => all.has(prefix)));
}

/** The first segment: the wall, the quota. */
export function tenantOf(scope: string): string {
  const end = scope.indexOf("/");
  return end === -1 ? scope : scope.slice(0, end);
}

/** The scope before its first "~" segment: one log, one order, one owner (rule SCP-6). */
export function cellOf(scope: string): string {
  const child = scope.indexOf("/~");
  return child === -1 ? scope : scope.slice(0, child);
}

/** May a cell hold events of these scopes: it lies within one of them, or one lies within it? */
export function reaches(scopes: readonly string[], cell: string): boolean {
  return scopes.some((scope) => encloses(scope, cell) || cellOf(scope) === cell);
}
