/**
 * How text that holds a dialect's tags is written, and read back (rule XML-5): a backslash after the "<" makes a tag text.
 * A tag that has backslashes already gets one more, so that nothing is lost.
 */
export class Escapes {
  /** What may follow "<" and its backslashes: a tag's name, also of a closing tag. Sticky: it looks at `lastIndex` alone. */
  private readonly name: RegExp;
  private readonly names: readonly string[];
  private readonly unescaped: RegExp;
  private readonly escaped: RegExp;

  /** `names`: the words that a tag of the dialect begins with; plain letters and "_". */
  constructor(names: readonly string[]) {
    const name = `/?(?:${names.join("|")})`;
    this.names = names.flatMap((each) => [each, `/${each}`]);
    this.name = new RegExp(name, "y");
    this.unescaped = new RegExp(`<(?=\\\\*${name})`, "g");
    this.escaped = new RegExp(`<\\\\(?=\\\\*${name})`, "g");
  }

  /** Text that holds no tag. */
  escape(text: string): string {
    return text.replace(this.unescaped, "<\\");
  }

  unescape(text: string): string {
    return text.replace(this.escaped, "<");
  }

  /** JSON text that holds no tag: JSON has an escape of its own. A "<" stands in its strings alone. */
  json(value: unknown): string {
    return JSON.stringify(value).replace(this.unescaped, "\\u003c");
  }

  /** Does a name begin here? "part": the text ends before that is known. */
  nameAt(text: string, at: number): "whole" | "part" | "none" {
    this.name.lastIndex = at;
    if (this.name.test(text)) return "whole";
    return this.names.some((name) => text.length - at < name.length && name.startsWith(text.slice(at)))
      ? "part"
      : "none";
  }
}

/** The name of a parameter or a function between quotes or before a ">": with the entities of XML. */
export function encodeAttribute(text: string): string {
  return text.replace(/[&<>"\0-\x1f]/g, (char) => ENTITIES[char] ?? `&#${char.charCodeAt(0)};`);
}

export function decodeAttribute(text: string): string {
  return text.replace(/&(?:(amp|lt|gt|quot|apos)|#(\d{1,6}));/g, (whole, name?: string, code?: string) =>
    name === undefined ? fromCode(Number(code), whole) : CHARACTERS[name]!,
  );
}

function fromCode(code: number, whole: string): string {
  return code <= 0xffff ? String.fromCharCode(code) : whole;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
