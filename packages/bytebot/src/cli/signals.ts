const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal asks for a clean end, the second does what it always does. While this listens, the process stays. */
export class Signals {
  /** Aborts with the first. */
  readonly asked: AbortSignal;
  private readonly first = new AbortController();
  private readonly stay = setInterval(() => undefined, 2 ** 30);

  constructor() {
    this.asked = this.first.signal;
    for (const name of SIGNALS) process.on(name, this.hear);
  }

  close(): void {
    clearInterval(this.stay);
    for (const name of SIGNALS) process.off(name, this.hear);
  }

  private readonly hear = (name: NodeJS.Signals): void => {
    if (this.asked.aborted) {
      process.removeAllListeners(name);
      process.kill(process.pid, name);
    }
    this.first.abort();
  };
}
