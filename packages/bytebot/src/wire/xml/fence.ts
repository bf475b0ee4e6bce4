const [NEWLINE, TAB, RETURN, SPACE] = [0x0a, 0x09, 0x0d, 0x20];
const [BACKTICK, TILDE, QUOTED] = [0x60, 0x7e, 0x3e];

/** Where the reader stands in its line; "info" follows the marks of what may be an opening fence, "trail" those of a closing one. */
type Place = "start" | "marks" | "info" | "trail" | "rest";

/** Follows text as it comes and knows whether it is within a Markdown code fence: what is shown there is no call (rule XML-8). */
export class Fence {
  private open: { mark: number; count: number } | undefined;
  private place: Place = "start";
  private mark = 0;
  private count = 0;
  private last = 0;

  /** May a call begin here? Not in a fence, in the line that opens one, or right after a backtick. */
  get allowsCall(): boolean {
    return this.open === undefined && this.place !== "info" && this.last !== BACKTICK;
  }

  /** What closes the fence that is open, if one is. */
  get closing(): string | undefined {
    return this.open && String.fromCharCode(this.open.mark).repeat(this.open.count);
  }

  read(text: string): void {
    for (let at = 0; at < text.length; at++) {
      if (this.place === "rest") {
        const end = text.indexOf("\n", at);
        if (end === -1) break;
        at = end;
      }
      this.step(text.charCodeAt(at));
    }
    if (text !== "") this.last = text.charCodeAt(text.length - 1);
  }

  private step(char: number): void {
    if (char === NEWLINE) return this.lineEnds();
    const space = char === SPACE || char === TAB || char === RETURN;
    switch (this.place) {
      case "start":
        if (space || char === QUOTED) return;
        this.place = char === BACKTICK || char === TILDE ? "marks" : "rest";
        this.mark = char;
        this.count = 1;
        return;
      case "marks":
        if (char === this.mark) this.count++;
        else if (this.open) this.place = space ? "trail" : "rest";
        else this.place = this.count >= 3 ? "info" : "rest";
        return;
      case "info":
        // Inline code that begins with three marks: it opens nothing.
        if (char === BACKTICK && this.mark === BACKTICK) this.place = "rest";
        return;
      case "trail":
        if (!space) this.place = "rest";
        return;
      case "rest":
    }
  }

  private lineEnds(): void {
    const { open, place, mark, count } = this;
    if (open) {
      const closes = (place === "marks" || place === "trail") && mark === open.mark && count >= open.count;
      if (closes) this.open = undefined;
    } else if ((place === "marks" || place === "info") && count >= 3) this.open = { mark, count };
    this.place = "start";
  }
}
