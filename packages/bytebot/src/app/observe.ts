import { startInproc } from "../sdk/ambient.ts";
import { sync } from "../sdk/sync.ts";
import { dialSocket, LateReceiver, type Receiver } from "../transport/index.ts";
import type { Event } from "../wire/index.ts";

export interface ObserveOptions {
  /** This scope and what is below it; absent: all. */
  scope?: string | undefined;
  types?: string[] | undefined;
  /** The events after this cursor first; "start": all that are kept; absent: only what happens from now on. */
  since?: string | undefined;
  /** Leaves once it has seen what there is. */
  follow?: boolean | undefined;
  /** Leaves. */
  signal: AbortSignal;
}

/**
 * Watches an app of another process as telemetry, over the socket it listens on; resolves when that app ends, or at the
 * signal. Rejects with BytebotError: `unavailable` where nothing listens there, or what the Hub refused.
 */
export async function observe(
  path: string,
  { scope, types, since, follow = true, signal }: ObserveOptions,
  onEvent: (event: Event) => void,
): Promise<void> {
  const early = new LateReceiver();
  const link = await dialSocket(path)(early, signal);
  const main = async (): Promise<void> => {
    const scopes = scope === undefined ? undefined : [scope];
    const satellite = await sync({ kind: "telemetry", name: "observer", scopes, types, resume: since });
    satellite.on("*", onEvent);
    if (!follow) satellite.on("bb_live", () => satellite.close("it has seen what there is"));
    await satellite.start();
  };
  const connect = (receiver: Receiver) => {
    early.become(receiver);
    return link;
  };
  try {
    await startInproc(main, { name: "the app", opts: {}, signal, connect });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await link.close("its reader left");
  }
}
