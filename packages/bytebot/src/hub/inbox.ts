type Work = () => Promise<void> | undefined;

/** Done work leaves the list so much at a time. */
const TRIM = 1024;

/** What one connection sends, in its order: what has to wait, as its bytes are being kept, holds up what is behind it. */
export class Inbox {
  private list: (Work | undefined)[] = [];
  private next = 0;
  private state: "idle" | "busy" = "idle";

  /** How many wait. */
  get length(): number {
    return this.list.length - this.next;
  }

  get isIdle(): boolean {
    return this.state === "idle";
  }

  /** Does `work` now, or after what came before. It does not throw, nor does its promise reject. */
  add(work: Work): void {
    if (this.state === "busy") return void this.list.push(work);
    // Most events wait for nothing, and leave no trace here.
    this.state = "busy";
    const running = work();
    if (running) void running.then(() => this.go());
    else if (this.list.length > 0) this.go();
    else this.state = "idle";
  }

  /** Resolves when all that was added so far is done; undefined: it is. */
  settled(): Promise<void> | undefined {
    if (this.state === "idle") return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.add(() => {
      resolve();
      return undefined;
    });
    return promise;
  }

  private go(): void {
    while (this.next < this.list.length) {
      const work = this.list[this.next]!;
      this.list[this.next++] = undefined;
      if (this.next === TRIM) {
        this.list.splice(0, TRIM);
        this.next = 0;
      }
      const running = work();
      if (!running) continue;
      void running.then(() => this.go());
      return;
    }
    this.list = [];
    this.next = 0;
    this.state = "idle";
  }
}
