import { rm } from "node:fs/promises";
import type { ByteBot } from "../app/bytebot.ts";
import type { Listen } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { listen } from "./listen.ts";
import { quieten, report, unread } from "./output.ts";
import { Signals } from "./signals.ts";
import { socketOf } from "./socket.ts";

export interface LiveOptions {
  /** Where `bytebot tail` may join; absent: this process's place in the user's folder, and where that fails the app runs without. */
  socket?: string | undefined;
  /** Called once everything is attached. */
  started?: (hub: ByteBot) => Promise<void>;
  /** Where it is then served over HTTP. */
  listen?: Listen | undefined;
}

/**
 * Starts an app and runs it until its ui ends, a signal comes, or nobody reads stdout; then stops it, and nothing is left.
 * Resolves with how it ended; rejects where it could not start. A second signal ends the process at once.
 */
export async function live(hub: ByteBot, options: LiveOptions = {}): Promise<"done" | "failed" | "signal"> {
  const signals = new Signals();
  let tokenFile: string | undefined;
  const serve = async (): Promise<void> => {
    if (!options.listen) return;
    const { told, file } = await listen(hub, options.listen);
    tokenFile = file;
    for (const line of told) report(line);
  };
  try {
    const running = start(hub, options).then(serve);
    const ended = running.then(() => hub.ui?.ended ?? new Promise<never>(() => undefined));
    ended.catch(() => undefined); // a failed start is told by the race that is still on
    const end = await Promise.race([ended, aborted(signals.asked), aborted(unread)]);
    if (signals.asked.aborted) return "signal";
    // The app's report has told the reason already.
    return end?.error ? "failed" : "done";
  } finally {
    quieten();
    await hub.stop(signals.asked.aborted ? "the person stopped it" : "it is done");
    signals.close();
    if (tokenFile !== undefined) await rm(tokenFile, { force: true });
  }
}

async function start(hub: ByteBot, { socket, started }: LiveOptions): Promise<void> {
  await hub.start();
  try {
    await hub.listen(socket ?? socketOf(process.pid));
  } catch (error) {
    if (socket !== undefined) throw error;
    report(`bytebot tail cannot join this app: ${BytebotError.from(error).message}`);
  }
  await started?.(hub);
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
