import type { Escapes } from "./escape.ts";

const LESS = 0x3c;
const BACKSLASH = 0x5c;

/** Tags to look for. Each begins with "<". */
export class Tags {
  readonly list: readonly string[];
  private readonly longest: number;
  /** Which characters may follow the "<": most that is no tag is seen by it. */
  private readonly seconds = new Uint8Array(128);

  constructor(...list: string[]) {
    this.list = list;
    this.longest = Math.max(...list.map((tag) => tag.length));
    for (const tag of list) this.seconds[tag.charCodeAt(1)] = 1;
  }

  /** The tag that begins here; "part": the text ends before that is known. */
  at(text: string, at: number): { tag: string } | "part" | undefined {
    if (at + 1 < text.length && this.seconds[text.charCodeAt(at + 1)] !== 1) return undefined;
    const tag = this.list.find((each) => text.startsWith(each, at));
    if (tag !== undefined) return { tag };
    if (text.length - at >= this.longest) return undefined;
    const rest = text.slice(at);
    return this.list.some((each) => each.startsWith(rest)) ? "part" : undefined;
  }
}

/**
 * Finds tags in text that comes in pieces, and takes the escapes out of what lies between them. Of the text it holds back
 * only what may still become a tag: never more than a tag's length.
 */
export class Seeker {
  private held = "";
  /** `held` follows a "<", and begins with the backslash that an escape has too many. */
  private escaping = false;
  private readonly escapes: Escapes | undefined;

  /** Without `escapes` the text is passed on as it is. */
  constructor(escapes?: Escapes) {
    this.escapes = escapes;
  }

  /**
   * Passes on text until a tag that counts; answers it and what follows, else undefined when the piece is used up.
   * `plain` gets the text before a tag first, then `counts` decides; a tag that does not count is text.
   */
  push(
    piece: string,
    tags: Tags,
    plain: (text: string) => void,
    counts: (tag: string) => boolean = () => true,
  ): { tag: string; rest: string } | undefined {
    const text = this.held + piece;
    this.held = "";
    let passed = 0;
    const pass = (to: number): void => {
      if (to > passed) plain(text.slice(passed, to));
      passed = to;
    };
    let at = 0;
    while (at < text.length) {
      if (!this.escaping) {
        at = text.indexOf("<", at);
        if (at === -1) break;
        while (text.charCodeAt(at + 1) === LESS) at++;
        if (!this.escapes || text.charCodeAt(at + 1) !== BACKSLASH) {
          const found = tags.at(text, at);
          if (found === undefined) at++;
          else if (typeof found === "object") {
            pass(at);
            if (counts(found.tag)) return { tag: found.tag, rest: text.slice(at + found.tag.length) };
            at += found.tag.length;
          } else {
            pass(at);
            this.held = text.slice(at);
            return undefined;
          }
          continue;
        }
        at++;
      }
      this.escaping = false;
      let end = at + 1;
      while (text.charCodeAt(end) === BACKSLASH) end++;
      const name = this.escapes!.nameAt(text, end);
      if (name !== "none") pass(end - 1);
      if (name === "part") {
        this.held = text.slice(end - 1);
        this.escaping = true;
        return undefined;
      }
      if (name === "whole") passed = end;
      at = end;
    }
    pass(text.length);
    return undefined;
  }

  /** The text has ended: what was held back is text. */
  end(plain: (text: string) => void): void {
    if (this.held !== "") plain(this.held);
    this.held = "";
    this.escaping = false;
  }
}
