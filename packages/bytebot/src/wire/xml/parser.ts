import type { ModelTool } from "../events/turn.ts";
import { Malformed, skipWhite, type CallReader, type CallSink } from "./call.ts";
import type { Dialect, KindOf } from "./dialect.ts";
import { Prose } from "./prose.ts";
import { valueKind } from "./schema.ts";

/** What an answer's text turns out to be, in the order it comes. Text and arguments come in pieces. */
export type XmlEvent =
  | { type: "text"; text: string }
  /** A call begins. */
  | { type: "call"; name: string }
  /** A piece of its arguments, as JSON text. */
  | { type: "arguments"; json: string }
  /** The answer has ended and the call is whole: all pieces of its arguments are a JSON object. */
  | { type: "complete" }
  /** The answer has ended and what began as a call is none. `written`: its first characters; `reason`: for the model. */
  | { type: "malformed"; name: string; reason: string; written: string };

/** Stands for the name of a call whose name could not be read. */
const NO_NAME = "malformed_call";
/** Characters of a malformed call that are kept. */
const MAX_WRITTEN = 2000;
const MAX_ARGUMENTS = 16 * 1024 * 1024;

/**
 * Reads the text of one answer, in whatever pieces it comes: the same events, joined, for every cutting. At most one call,
 * at the end; what follows it makes it malformed, and is dropped (rules XML-3 to XML-8). Its work is linear in the text; it
 * holds no more than the text's white space, one value that is no string, and `limit` characters of arguments.
 */
export class XmlParser {
  private state: "text" | "call" | "after" | "malformed" | "ended" = "text";
  private readonly dialect: Dialect;
  private readonly kindOf: KindOf;
  private readonly limit: number;
  private prose: Prose;
  /** The first half of a character whose second half has not come. */
  private half = "";
  private reader: CallReader | undefined;
  private name: string | undefined;
  private started = false;
  private json = "";
  private size = 0;
  private written = "";
  private reason = "";

  constructor(dialect: Dialect, tools: readonly ModelTool[], limit = MAX_ARGUMENTS) {
    this.dialect = dialect;
    this.kindOf = kindsOf(tools);
    this.limit = limit;
    this.prose = new Prose(dialect);
  }

  push(piece: string): XmlEvent[] {
    const text = this.half + piece;
    // No piece that is passed on ends in half a character.
    this.half = isHalf(text.charCodeAt(text.length - 1)) ? text.slice(-1) : "";
    return this.read(this.half === "" ? text : text.slice(0, -1));
  }

  private read(piece: string): XmlEvent[] {
    let rest: string | undefined = piece;
    try {
      if (this.state === "text") rest = this.readText(piece);
      else this.keep(piece);
      if (this.state === "call" && rest !== undefined) rest = this.reader!.read(rest);
      if (this.state === "call" && rest !== undefined) this.state = "after";
      if (this.state === "after" && skipWhite(rest!) < rest!.length) throw new Malformed(NOTHING_AFTER);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.refuse(error.message);
    }
    return this.take();
  }

  /** The block of text ends here; another may follow. A tag that is not whole is text, a call that is not whole malformed. */
  pause(): XmlEvent[] {
    const { half } = this;
    this.half = "";
    const last = half === "" ? [] : this.read(half);
    if (this.state === "text") {
      this.prose.end();
      const events = this.take();
      this.prose = new Prose(this.dialect);
      return [...last, ...events];
    }
    if (this.state === "call") this.refuse("the call is not whole: its closing tags are missing");
    return last;
  }

  /** Something that is no text follows: after a call that is refused. */
  other(): void {
    if (this.state === "after") this.refuse(NOTHING_AFTER);
  }

  /** Has a call begun? What comes after is dropped. */
  get inCall(): boolean {
    return this.state !== "text";
  }

  /** The answer has ended. */
  end(): XmlEvent[] {
    const events = this.pause();
    const { state, reason, written } = this;
    this.state = "ended";
    if (state === "after") return [...events, { type: "complete" }];
    if (state !== "malformed") return events;
    return [...events, { type: "malformed", name: this.name ?? NO_NAME, reason, written }];
  }

  private readText(piece: string): string | undefined {
    const found = this.prose.push(piece);
    if (!found) return undefined;
    this.state = "call";
    this.keep(found.tag);
    this.keep(found.rest);
    if (found.tag !== this.dialect.open) throw new Malformed(`a call begins with ${this.dialect.open}`);
    this.reader = this.dialect.reader(this.kindOf, this.sink);
    return found.rest;
  }

  private refuse(reason: string): void {
    this.state = "malformed";
    this.reason = reason;
    this.reader = undefined;
  }

  private keep(text: string): void {
    const room = MAX_WRITTEN - this.written.length;
    if (room > 0) this.written += text.slice(0, room);
  }

  private readonly sink: CallSink = {
    name: (name) => void (this.name = name),
    arguments: (json) => {
      this.size += json.length;
      if (this.size > this.limit) throw new Malformed(`the arguments are over ${this.limit} characters`);
      this.json += json;
    },
  };

  /** What was found since the last time: at most one event of each type. */
  private take(): XmlEvent[] {
    const events: XmlEvent[] = [];
    const text = this.prose.take();
    if (text !== "") events.push({ type: "text", text });
    if (this.name !== undefined && !this.started) {
      this.started = true;
      events.push({ type: "call", name: this.name });
    }
    if (this.json !== "") events.push({ type: "arguments", json: this.json });
    this.json = "";
    return events;
  }
}

const NOTHING_AFTER = "something follows the call: one call an answer, and nothing after it";

/** How the parameters of these tools are read. */
export function kindsOf(tools: readonly ModelTool[]): KindOf {
  const schemas = new Map(tools.map((tool) => [tool.name, tool.input_schema]));
  return (tool, key) => valueKind(schemas.get(tool), key);
}

/** The first of the two units that a character beyond U+FFFF has. */
function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
