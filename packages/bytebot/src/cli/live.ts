import type { ByteBot } from "../app/bytebot.ts";
import { BytebotError } from "../wire/index.ts";
import { quieten, report, unread } from "./output.ts";
import { socketOf } from "./socket.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface LiveOptions {
  /** Where `bytebot tail` may join; absent: this process's place in the user's folder, and where that fails the app runs without. */
  socket?: string | undefined;
  /** Called once everything is attached. */
  started?: (hub: ByteBot) => Promise<void>;
  /** Ends it from outside. */
  signal?: AbortSignal;
}

/**
 * Starts an app and runs it until its ui ends, a signal comes, or nobody reads stdout; then stops it, and nothing is left.
 * Resolves with how it ended; rejects where it could not start. A second signal ends the process at once.
 */
export async function live(
  hub: ByteBot,
  { socket, started, signal }: LiveOptions = {},
): Promise<"done" | "failed" | "signal"> {
  const signals = new Signals();
  const outside = [unread, ...(signal ? [signal] : [])].map(aborted);
  try {
    const running = start(hub, socket, started);
    const ended = running.then(() => hub.ui?.ended ?? new Promise<never>(() => undefined));
    ended.catch(() => undefined); // a failed start is told by the race that is still on
    const end = await Promise.race([ended, signals.first, ...outside]);
    if (end === "signal") return "signal";
    // The app's report has told the reason already.
    return end?.error ? "failed" : "done";
  } finally {
    quieten();
    await hub.stop(signals.seen ? "the person stopped it" : "it is done");
    signals.close();
  }
}

async function start(hub: ByteBot, socket: string | undefined, started: LiveOptions["started"]): Promise<void> {
  await hub.start();
  try {
    await hub.listen(socket ?? socketOf(process.pid));
  } catch (error) {
    if (socket !== undefined) throw error;
    report(`bytebot tail cannot join this app: ${BytebotError.from(error).message}`);
  }
  await started?.(hub);
}

/** The first asks for a clean end, the second gets what it always does. While it listens, the process stays. */
class Signals {
  readonly first: Promise<"signal">;
  seen = false;
  private readonly stay = setInterval(() => undefined, 2 ** 30);
  private readonly settle = Promise.withResolvers<"signal">();

  constructor() {
    this.first = this.settle.promise;
    for (const name of SIGNALS) process.on(name, this.hear);
  }

  close(): void {
    clearInterval(this.stay);
    for (const name of SIGNALS) process.off(name, this.hear);
  }

  private readonly hear = (name: NodeJS.Signals): void => {
    if (this.seen) {
      process.removeAllListeners(name);
      process.kill(process.pid, name);
    }
    this.seen = true;
    this.settle.resolve("signal");
  };
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
