import { Pieces } from "../pieces.ts";
import { Malformed, parseJson, skipWhite, whiteTail } from "./call.ts";
import type { Escapes } from "./escape.ts";
import { typeOf, type ValueKind } from "./schema.ts";

/**
 * One parameter's value, as its text comes. A raw one is passed on piece by piece; the others are kept until they are
 * whole. `framed`: one line break after the opening tag and one before the closing tag are not part of it.
 */
export class Value {
  private readonly said = new Pieces();
  /** A framed value's line break that may be its last. */
  private lineBreak = "";
  private empty = true;
  private readonly key: string;
  private readonly kind: ValueKind;
  private readonly framed: boolean;
  private readonly emit: (json: string) => void;
  private readonly escapes: Escapes;

  constructor(key: string, kind: ValueKind, framed: boolean, escapes: Escapes, emit: (json: string) => void) {
    this.key = key;
    this.kind = kind;
    this.framed = framed;
    this.escapes = escapes;
    this.emit = emit;
    if (kind.read === "raw") emit('"');
  }

  /** `text` is not empty. */
  add(text: string): void {
    if (this.framed) {
      if (this.empty && text.startsWith("\n")) text = text.slice(1);
      this.empty = false;
      text = this.lineBreak + text;
      this.lineBreak = text.endsWith("\n") ? "\n" : "";
      if (this.lineBreak !== "") text = text.slice(0, -1);
    }
    if (this.kind.read === "raw") this.emit(JSON.stringify(text).slice(1, -1));
    else this.said.add(text);
  }

  end(): void {
    const { kind } = this;
    if (kind.read === "raw") return this.emit('"');
    const { text } = this.said;
    const json = text.slice(skipWhite(text), whiteTail(text));
    if (kind.read === "json" || fits(json, kind.types)) {
      parseJson(json, `the value of the parameter ${JSON.stringify(this.key.slice(0, 64))}`);
      this.emit(json);
    } else this.emit(JSON.stringify(this.escapes.unescape(text)));
  }
}

/** Is this JSON of one of these types? */
function fits(json: string, types: ReadonlySet<string>): boolean {
  try {
    const value = parseJson(json, "it");
    return types.has(typeOf(value)) || (Number.isInteger(value) && types.has("integer"));
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
