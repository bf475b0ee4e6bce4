/** A pattern, read once: `*` is any run of characters, also of none; everything else is itself. */
export class Glob {
  /** The one text that it matches; undefined where it has a `*`. */
  readonly name: string | undefined;
  /** It looks through the text, and not only at its ends. */
  readonly searches: boolean;
  private readonly head: string;
  private readonly inner: readonly string[];
  private readonly tail: string;

  constructor(pattern: string) {
    const [head = "", ...rest] = pattern.split("*");
    this.name = rest.length === 0 ? head : undefined;
    this.head = head;
    this.tail = rest.pop() ?? "";
    this.inner = rest.filter((part) => part !== "");
    this.searches = this.inner.length > 0;
  }

  /** Linear in the text, whatever the pattern: what stands between two `*` is taken where it comes first. */
  matches(text: string): boolean {
    const { head, inner, tail } = this;
    if (this.name !== undefined) return text === head;
    if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
    let at = head.length;
    for (const part of inner) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= text.length - tail.length;
  }
}
