const [LF, CR, QUOTE, COLON, COMMA, BACKSLASH] = [10, 13, 34, 58, 44, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];
/** Of the reply's object the list of candidates, and in it one of them. */
const CANDIDATE = 3;
/** Characters that are kept of a text; no name and no reason is longer. */
const KEPT = 40;

/**
 * Finds out whether a candidate of Gemini's says why it stops: in a field of its own. The arguments of a call are an object
 * of the model's, in which the same name may stand deeper.
 */
export class CandidateEnd {
  private depth = 0;
  /** The text that is open, as far as it is kept. */
  private text: string | undefined;
  private isEscaped = false;
  private last = "";
  private name = "";
  private isBlank = false;

  /** Does one say so in these bytes? */
  take(chunk: Uint8Array): boolean {
    let found = false;
    for (const byte of chunk) if (this.text === undefined ? this.outside(byte) : this.inside(byte)) found = true;
    return found;
  }

  private inside(byte: number): boolean {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) {
      this.last = this.text ?? "";
      this.text = undefined;
      const isReason = this.last !== "" && this.last !== "FINISH_REASON_UNSPECIFIED";
      return this.depth === CANDIDATE && this.name === "finishReason" && isReason;
    } else if (byte === LF) this.text = undefined;
    else if (this.depth === CANDIDATE && this.text!.length < KEPT) this.text += String.fromCharCode(byte);
    return false;
  }

  private outside(byte: number): false {
    const wasBlank = this.isBlank;
    if (byte !== CR) this.isBlank = byte === LF;
    if (byte === QUOTE) this.text = "";
    else if (byte === COLON) [this.name, this.last] = [this.last, ""];
    else if (byte === COMMA) this.name = this.last = "";
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      this.depth += 1;
      this.name = this.last = "";
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      this.depth -= 1;
      this.name = this.last = "";
    }
    // An empty line ends an event, whatever it held.
    else if (byte === LF && wasBlank) this.depth = 0;
    return false;
  }
}
