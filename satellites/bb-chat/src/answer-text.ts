import type { EventOf } from "bytebot/sdk";
import type { Round } from "./fold.ts";
import { printable } from "./printable.ts";

/** Writes an answer's text to stdout as it comes: what was written stays, so that it only ever adds. */
export class AnswerText {
  private atLineStart = true;
  /** Characters of each block of the running round that are written. */
  private written = new Map<number, number>();

  /** `before` and `after`: the round as it was folded without this chunk and with it. */
  show(chunk: EventOf<"infer_chunk">, before: Round | undefined, after: Round | undefined): void {
    if (chunk.kind === "loop_done") return this.endLine();
    if (after?.round !== (chunk.round ?? 0) || after.attempt !== (chunk.attempt ?? 0)) return;
    if (after.loopId !== before?.loopId || after.round !== before.round || after.attempt !== before.attempt) {
      if (after.loopId === before?.loopId && after.round === before.round && !this.atLineStart) {
        process.stderr.write("\nthe model began this answer again\n");
      }
      this.written = new Map();
    }
    if (chunk.kind === "block_delta" && chunk.block_type === "text") this.write(chunk.index, chunk.delta);
    if (chunk.kind === "block_stop") this.complete(chunk.index, before, after);
  }

  /** The whole block counts: what of it was not streamed is added, or the whole where it says something else. */
  private complete(index: number, before: Round | undefined, after: Round): void {
    const whole = after.blocks.get(index);
    if (whole?.type !== "text") return;
    const done = this.written.get(index) ?? 0;
    const streamed = done === 0 ? "" : (before?.blocks.get(index)?.text ?? "");
    if (whole.text.startsWith(streamed)) return this.write(index, whole.text.slice(done));
    this.written.delete(index);
    this.write(index, whole.text);
  }

  private write(index: number, text: string): void {
    if (text === "") return;
    if (!this.written.has(index)) this.endLine();
    this.written.set(index, (this.written.get(index) ?? 0) + text.length);
    this.atLineStart = text.endsWith("\n");
    process.stdout.write(printable(text));
  }

  private endLine(): void {
    if (!this.atLineStart) process.stdout.write("\n");
    this.atLineStart = true;
  }
}
