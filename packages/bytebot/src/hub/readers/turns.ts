/**
 * Those who read much of the log take turns: one of them between two turns of the event loop, however many they are, so
 * that all of them together hold up the others no longer than one.
 */
export class Turns {
  private state: "free" | "taken" = "free";
  private readonly waiting: (() => void)[] = [];

  /** Resolves when it is this one's turn, until it gives it on. */
  take(): Promise<void> {
    if (this.state === "taken") return new Promise((resolve) => this.waiting.push(resolve));
    this.state = "taken";
    return Promise.resolve();
  }

  give(): void {
    setImmediate(() => {
      const next = this.waiting.shift();
      if (next) next();
      else this.state = "free";
    });
  }
}
