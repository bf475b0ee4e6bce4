import { BytebotError, type Kind } from "../wire/index.ts";
import { ambient } from "./ambient.ts";
import { ConnectedSatellite } from "./connected.ts";
import { Connection } from "./connection.ts";
import type { Satellite } from "./satellite.ts";

/** What a satellite says it is. An absent role means as granted: this narrows the grant, never widens it. */
export interface SyncOptions {
  kind: Kind;
  inputCapable?: boolean | undefined;
  primary?: boolean | undefined;
  controller?: boolean | undefined;
  capabilities?: object | undefined;
  name?: string | undefined;
  version?: string | undefined;
  /** What it wants to see; absent: its whole grant. */
  scopes?: string[] | undefined;
  types?: string[] | undefined;
  /**
   * For a ui or a telemetry that returns: its last `satellite.cursor`, or one of each log, and it is shown all that it
   * missed; "start": everything there is; absent: nothing old. `cursor_expired` where the log has no such place: sync
   * with "start", or without it.
   */
  resume?: string | string[] | undefined;
  /** Aborted: the handshake fails, or the connection closes. */
  signal?: AbortSignal | undefined;
}

/**
 * Opens the connection `main` was started with and shakes hands; once in each run. Rejects with BytebotError: the Hub's
 * refusal, `timeout` after 10 s, `cancelled`, `unavailable` where the connection closed, `invalid_params` outside of a run.
 */
export async function sync(options: SyncOptions): Promise<Satellite> {
  const running = ambient();
  if (running === undefined || running === "loading") {
    throw new BytebotError(
      "invalid_params",
      "sync() has no connection here: call it inside main, and start that with bb.run(main)",
    );
  }
  if (running.close) {
    throw new BytebotError(
      "conflict",
      "sync() was already called in this run: one satellite a run, keep what the first call returned",
    );
  }
  const { resume } = options;
  const signal = options.signal ? AbortSignal.any([options.signal, running.signal]) : running.signal;
  const { acks } = running.ambient;
  const connection = new Connection((receiver) => running.ambient.connect(receiver), acks === "sends");
  running.close = (reason) => connection.close(reason);
  const granted = await connection.sync(
    {
      event_type: "bb_sync",
      kind: options.kind,
      input_capable: options.inputCapable,
      primary: options.primary,
      controller: options.controller,
      language: "typescript",
      protocol_version: 1,
      capabilities: acks ? { ...options.capabilities, acks: {} } : options.capabilities,
      name: options.name,
      version: options.version,
      scopes: options.scopes,
      types: options.types,
      resume: typeof resume === "string" && resume !== "start" ? [resume] : resume,
    },
    signal,
  );
  const stop = () => void connection.close("stopped");
  // It may have aborted between the acknowledgement and here.
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  connection.signal.addEventListener("abort", () => signal.removeEventListener("abort", stop), { once: true });
  return new ConnectedSatellite(connection, granted, options.capabilities);
}
