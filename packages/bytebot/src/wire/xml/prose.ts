import { whiteTail } from "./call.ts";
import type { Dialect } from "./dialect.ts";
import { Fence } from "./fence.ts";
import { Seeker, Tags } from "./seek.ts";

const THINK = "<think>";
const endOfThinking = new Tags("</think>");

/**
 * The text of an answer up to its call. It passes on what is certain to be text, and holds back what may still become a
 * tag, and white space, which is dropped before a call.
 */
export class Prose {
  private readonly seeker: Seeker;
  private readonly fence = new Fence();
  private readonly tags: Tags;
  /** Text to be passed on. */
  private said = "";
  private white = "";
  /** Nothing but white space so far. */
  private beginning = true;
  private thinking = false;

  constructor(dialect: Dialect) {
    this.seeker = new Seeker(dialect.escapes);
    this.tags = new Tags(dialect.open, ...dialect.inner, THINK);
  }

  /** Answers the tag that begins a call and what follows it, if one does. */
  push(piece: string): { tag: string; rest: string } | undefined {
    let rest = piece;
    for (;;) {
      const tags = this.thinking ? endOfThinking : this.tags;
      const found = this.seeker.push(rest, tags, this.plain, this.counts);
      if (!found) return undefined;
      rest = found.rest;
      if (this.thinking) {
        this.thinking = false;
        this.plain(found.tag);
      } else if (found.tag === THINK) {
        this.thinking = true;
        this.plain(found.tag);
      } else return found;
    }
  }

  /** What is certain to be text, once. */
  take(): string {
    const { said } = this;
    this.said = "";
    return said;
  }

  /** The text has ended: what was held back belongs to it. */
  end(): void {
    this.seeker.end(this.plain);
    this.said += this.white;
    this.white = "";
  }

  private readonly plain = (text: string): void => {
    // A fence that was opened in thinking ends with it.
    if (!this.thinking) this.fence.read(text);
    const end = whiteTail(text);
    if (end === 0) this.white += text;
    else {
      this.said += this.white + text.slice(0, end);
      this.white = text.slice(end);
      this.beginning = false;
    }
  };

  /** The end of thinking always does: the fence has seen nothing but white space then. */
  private readonly counts = (tag: string): boolean => (tag === THINK ? this.beginning : this.fence.allowsCall);
}
