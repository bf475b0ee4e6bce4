import { Pieces } from "../pieces.ts";
import { Malformed, parseJson, skipWhite, toolName, type CallReader, type CallSink } from "./call.ts";
import { isObject } from "./schema.ts";
import { Tags } from "./seek.ts";

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

const NO_OBJECT = 'a call is {"name":…,"arguments":{…}} between its tags';

/**
 * `{"name":…,"arguments":{…}}` and a closing tag. The object ends with its own last brace, so that a tag within a string
 * is text. The arguments are passed on as they come where the name came before them.
 */
export class ObjectReader implements CallReader {
  private state: "before" | "object" | "after" = "before";
  private held = "";
  private body = new Pieces();
  private depth = 0;
  private inString = false;
  private escaped = false;
  private key: string | undefined;
  /** The key's value is being read. */
  private inValue = false;
  /** The text of a string that is a key or a value of the object itself. */
  private token = "";
  private named = false;
  /** The arguments, where they come before the name. */
  private early = "";
  private readonly seen = new Set<string>();
  private readonly end: Tags;
  private readonly sink: CallSink;

  constructor(end: string, sink: CallSink) {
    this.end = new Tags(end);
    this.sink = sink;
  }

  read(piece: string): string | undefined {
    let text = this.held + piece;
    this.held = "";
    if (this.state === "before") text = this.readStart(text);
    if (this.state === "object") text = this.readObject(text);
    return this.state === "after" ? this.readEnd(text) : undefined;
  }

  private readStart(text: string): string {
    const at = skipWhite(text);
    if (at === text.length) return "";
    if (text.charCodeAt(at) !== OPEN_BRACE) throw new Malformed(NO_OBJECT);
    this.state = "object";
    return text.slice(at);
  }

  /** Follows strings and brackets up to the last brace; answers what comes after it. */
  private readObject(text: string): string {
    let tokenAt = 0;
    let argumentsAt = 0;
    for (let at = 0; at < text.length; at++) {
      const char = text.charCodeAt(at);
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (char === BACKSLASH) this.escaped = true;
        else if (char === QUOTE) {
          this.inString = false;
          if (this.depth === 1) this.stringEnds(this.token + text.slice(tokenAt, at + 1));
        }
        continue;
      }
      if (char === QUOTE) {
        this.inString = true;
        this.token = "";
        tokenAt = at;
      } else if (char === COLON && this.depth === 1 && !this.inValue) {
        this.inValue = true;
        argumentsAt = at + 1;
      } else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.depth++;
      else if (char === COMMA && this.depth === 1) {
        this.memberEnds(text.slice(argumentsAt, at));
        argumentsAt = at + 1;
      } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
        this.depth--;
        if (this.depth > 0) continue;
        this.memberEnds(text.slice(argumentsAt, at));
        this.body.add(text.slice(0, at + 1));
        this.objectEnds();
        return text.slice(at + 1);
      }
    }
    this.body.add(text);
    if (this.inString && this.depth === 1) this.token += text.slice(tokenAt);
    this.passArguments(text.slice(argumentsAt));
    return "";
  }

  private stringEnds(token: string): void {
    if (!this.inValue) {
      this.key = String(parseJson(token, "the call"));
      if (this.seen.has(this.key)) throw new Malformed(NO_OBJECT);
      if (this.key === "name" || this.key === "arguments") this.seen.add(this.key);
    } else if (this.key === "name") this.callStarts(parseJson(token, "the call"));
  }

  private callStarts(name: unknown): void {
    if (this.named) return;
    this.sink.name(toolName(String(name)));
    this.named = true;
    if (this.early !== "") this.sink.arguments(this.early);
    this.early = "";
  }

  private memberEnds(value: string): void {
    this.passArguments(value);
    this.key = undefined;
    this.inValue = false;
  }

  private passArguments(json: string): void {
    if (!this.inValue || this.key !== "arguments") return;
    if (this.named) this.sink.arguments(json);
    else this.early += json;
  }

  private objectEnds(): void {
    const call = parseJson(this.body.text, "the call");
    if (!isObject(call) || typeof call["name"] !== "string" || !isObject(call["arguments"])) {
      throw new Malformed(NO_OBJECT);
    }
    this.body = new Pieces();
    this.state = "after";
  }

  private readEnd(text: string): string | undefined {
    const at = skipWhite(text);
    if (at === text.length) return undefined;
    const found = this.end.at(text, at);
    if (found === undefined) throw new Malformed(`${this.end.list[0]} has to follow the call's last brace`);
    if (found !== "part") return text.slice(at + found.tag.length);
    this.held = text.slice(at);
    return undefined;
  }
}
