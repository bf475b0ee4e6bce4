import { BytebotError } from "./errors.ts";
import type { LineLimits } from "./limits.ts";

/** Shorter lines (of less than 4 KiB) cannot break the value limit, and parsing them before the check costs nothing. */
const SCAN_FROM = 4096 / 3;
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);
/** Fields that name something: refused where damaged, because a repaired id is another id. */
const NAMING = new Set(["event_type", "id", "in_reply_to", "scope", "call_id", "loop_id", "from", "cursor", "ref"]);

const [SPACE, QUOTE, COMMA, BACKSLASH] = [0x20, 0x22, 0x2c, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Depth and number of values, counted on the text before anything is parsed (rule FRM-6). */
export function scan(line: string, limits: LineLimits): void {
  if (line.length < SCAN_FROM) return;
  let depth = 0;
  let values = 1;
  let last = 0;
  for (let at = 0; at < line.length; at++) {
    const char = line.charCodeAt(at);
    if (char <= SPACE) continue;
    if (char === QUOTE) {
      at = endOfString(line, at);
      if (at === -1) return; // no JSON: the parser says so
    } else if (char === COMMA) values++;
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (++depth > limits.depth) throw tooDeep(limits);
      values++; // its first member, taken back where it has none
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      depth--;
      if (last === OPEN_BRACE || last === OPEN_BRACKET) values--;
    }
    if (values > limits.values + 1) throw tooMany(limits);
    last = char;
  }
  if (values > limits.values) throw tooMany(limits);
}

/** Where the string that starts here ends: at a quote after an even number of backslashes. */
function endOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let before = end;
    while (line.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end;
  }
  return -1;
}

/**
 * Checks a value that claims to be an event, in place: no key that reaches a prototype, no number that JSON readers
 * disagree on, depth and count within the limits, text well-formed Unicode (a lone surrogate becomes U+FFFD), names
 * refused where they are not (rules FRM-7 and FRM-8). With `freeze`, also refuses what would not survive
 * encode and decode unchanged (undefined, functions, class instances, holes), and freezes it: in-proc events.
 */
export function check(event: unknown, limits: LineLimits, freeze = false): asserts event is Record<string, unknown> {
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    throw new BytebotError("invalid_event", "an event is a JSON object, and this is not one");
  }
  const walk: Walk = { limits, freeze, values: 0 };
  visit(event, walk, 1, "event");
}

interface Walk {
  limits: LineLimits;
  freeze: boolean;
  values: number;
}

function visit(container: object, walk: Walk, depth: number, where: string): void {
  if (depth > walk.limits.depth) throw tooDeep(walk.limits);
  walk.values++;
  if (walk.freeze) checkShape(container, where);
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index++) visitValue(container, index, container[index], walk, depth);
  } else {
    for (const key in container) {
      checkKey(key, where);
      const value = (container as Record<string, unknown>)[key];
      if (depth === 1 && typeof value === "string" && NAMING.has(key)) checkName(key, value);
      else visitValue(container, key, value, walk, depth);
    }
  }
  if (walk.values > walk.limits.values) throw tooMany(walk.limits);
  if (walk.freeze) Object.freeze(container);
}

function visitValue(container: object, key: string | number, value: unknown, walk: Walk, depth: number): void {
  if (typeof value === "object" && value !== null) return visit(value, walk, depth + 1, String(key));
  walk.values++;
  if (typeof value !== "string") return checkScalar(value, key);
  if (!value.isWellFormed() && !Reflect.set(container, key, value.toWellFormed())) {
    throw new BytebotError("invalid_event", `"${key}" holds half a character, and its object is frozen`);
  }
}

/**
 * A key with a backslash is refused because it cannot be trusted: after one was read, the JSON.parse of Node 24 takes
 * other keys that are written with an escape for it ("\\n" after "\\\\"). What it mistakes always holds a backslash.
 */
function checkKey(key: string, where: string): void {
  if (FORBIDDEN_KEYS.has(key)) throw new BytebotError("invalid_event", `the key "${key}" in ${where} is not allowed`);
  if (key.includes("\\"))
    throw new BytebotError("invalid_event", `a key in ${where} holds a backslash: name it without`);
  if (!key.isWellFormed()) throw new BytebotError("invalid_event", `a key in ${where} holds half a character`);
}

function checkName(key: string, value: string): void {
  if (value.isWellFormed() && !value.includes("\0")) return;
  throw new BytebotError("invalid_event", `"${key}" holds a NUL or half a character; names are refused, not repaired`);
}

function checkScalar(value: unknown, where: string | number): void {
  if (value === null || typeof value === "boolean") return;
  if (typeof value !== "number") {
    throw new BytebotError(
      "invalid_event",
      `"${where}" is ${value === undefined ? "undefined" : `a ${typeof value}`}, which JSON cannot carry: leave the field out`,
    );
  }
  if (!Number.isFinite(value)) throw new BytebotError("invalid_event", `"${where}" is not a finite number`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new BytebotError("invalid_event", `"${where}" is beyond 2^53-1: send it as a string`);
  }
}

function checkShape(container: object, where: string): void {
  const prototype: unknown = Object.getPrototypeOf(container);
  const plain = Array.isArray(container)
    ? prototype === Array.prototype && Object.keys(container).length === container.length
    : (prototype === Object.prototype || prototype === null) && Object.getOwnPropertySymbols(container).length === 0;
  if (!plain) {
    throw new BytebotError(
      "invalid_event",
      `"${where}" holds something JSON cannot carry unchanged: use plain objects and arrays`,
    );
  }
}

function tooDeep(limits: LineLimits): BytebotError {
  return new BytebotError("too_large", `nested deeper than ${limits.depth}: flatten it, or send it as a blob`);
}

function tooMany(limits: LineLimits): BytebotError {
  return new BytebotError("too_large", `more than ${limits.values} values in one event: send it as a blob`);
}
