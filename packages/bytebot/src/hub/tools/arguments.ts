/** Characters of a value that patterns are compared with. */
const MAX_TEXT = 16 * 1024;
/** Characters that are written, and searched for what a pattern has in its middle, for one call: whoever wrote the arguments. */
const MAX_WORK = 1024 * 1024;

/** A value that patterns are not compared with: it may match or not. */
export const TOO_LONG = Symbol("too long");

type Text = string | typeof TOO_LONG | undefined;

/** A place in arguments: its number among those that a policy looks at. */
export interface Place {
  number: number;
  path: readonly string[];
}

/** The arguments of one call as patterns see them: texts as they are, other values as JSON with sorted keys (rule POL-5). */
export class Arguments {
  private readonly input: unknown;
  /** By the number of their place: each is found and written once, however many rules look at it. */
  private readonly texts: (Text | null)[] = [];
  private room = MAX_WORK;

  constructor(input: unknown) {
    this.input = input;
  }

  /** The value at this place; undefined where there is none. */
  textAt({ number, path }: Place): Text {
    const known = this.texts[number];
    if (known !== undefined) return known ?? undefined;
    const text = this.find(path);
    this.texts[number] = text ?? null;
    return text;
  }

  /** May so many characters be searched? False: it has been enough. */
  mayRead(characters: number): boolean {
    this.room -= characters;
    return this.room >= 0;
  }

  private find(path: readonly string[]): Text {
    const value = valueAt(this.input, path);
    if (value === undefined) return undefined;
    if (typeof value === "string") return value.length > MAX_TEXT ? TOO_LONG : value;
    if (!this.mayRead(0)) return TOO_LONG;
    const text = write(value);
    this.mayRead(text === TOO_LONG ? MAX_TEXT : text.length);
    return text;
  }
}

/** All of the arguments as a pattern sees them; undefined where they are too long for that. */
export function textOf(input: unknown): string | undefined {
  const text = new Arguments(input).textAt({ number: 0, path: [] });
  return text === TOO_LONG ? undefined : text;
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input;
  for (const segment of path) {
    if (typeof value !== "object" || value === null) return undefined;
    // The length of a list is no argument.
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(segment)) return undefined;
    if (!Object.hasOwn(value, segment)) return undefined;
    value = (value as Record<string, unknown>)[segment];
  }
  return value;
}

function write(value: unknown): string | typeof TOO_LONG {
  const out: string[] = [];
  return writeInto(out, value, MAX_TEXT) < 0 ? TOO_LONG : out.join("");
}

/** Stops where there is no room left; what is left of it, below 0 where it was too little. */
function writeInto(out: string[], value: unknown, room: number): number {
  if (Array.isArray(value)) {
    let left = put(out, "[", room - 2);
    for (const [index, item] of value.entries()) {
      if (index > 0) left = put(out, ",", left - 1);
      if (left < 0) return left;
      left = writeInto(out, item, left);
    }
    return put(out, "]", left);
  }
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value);
    // Sorting very many is work too.
    if (keys.length > room) return -1;
    let left = put(out, "{", room - 2);
    for (const [index, key] of keys.sort().entries()) {
      const name = `${index > 0 ? "," : ""}${JSON.stringify(key)}:`;
      left = put(out, name, left - name.length);
      if (left < 0) return left;
      left = writeInto(out, (value as Record<string, unknown>)[key], left);
    }
    return put(out, "}", left);
  }
  if (typeof value === "string" && value.length > room) return -1;
  const text = JSON.stringify(value);
  return put(out, text, room - text.length);
}

function put(out: string[], text: string, left: number): number {
  if (left >= 0) out.push(text);
  return left;
}
