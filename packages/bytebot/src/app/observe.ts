import { sync } from "../sdk/sync.ts";
import type { Event } from "../wire/index.ts";
import { join, type Place } from "./join.ts";

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
 * Watches an app of another process as telemetry, at the other end of `place`; resolves when that app ends, or at the
 * signal. Rejects with BytebotError: what the Hub refused.
 */
export async function observe(
  place: Place,
  { scope, types, since, follow = true, signal }: ObserveOptions,
  onEvent: (event: Event) => void,
): Promise<void> {
  const main = async (): Promise<void> => {
    const scopes = scope === undefined ? undefined : [scope];
    const satellite = await sync({ kind: "telemetry", name: "observer", scopes, types, resume: since });
    satellite.on("*", onEvent);
    if (!follow) satellite.on("bb_live", () => satellite.close("it has seen what there is"));
    await satellite.start();
  };
  try {
    await join(main, place, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
