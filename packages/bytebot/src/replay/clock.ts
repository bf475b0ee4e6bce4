import type { Clock } from "../hub/index.ts";

/** The time of the recording: it stands still but for what is recorded, and deadlines come when the replay asks for them. */
export class RecordedClock implements Clock {
  private time: number;
  private readonly calls = new Set<{ at: number; call: () => void }>();

  constructor(time: number) {
    this.time = time;
  }

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.time + ms, call };
    this.calls.add(entry);
    return () => void this.calls.delete(entry);
  }

  /** It is at least this late. */
  reach(time: unknown): void {
    if (typeof time === "number" && time > this.time) this.time = time;
  }

  /** The next deadline comes; false where none is set. */
  next(): boolean {
    let first: { at: number; call: () => void } | undefined;
    for (const entry of this.calls) if (!first || entry.at < first.at) first = entry;
    if (!first) return false;
    this.calls.delete(first);
    this.reach(first.at);
    first.call();
    return true;
  }
}
