import type { ChildStreams, Connect } from "../transport/index.ts";
import type { BytebotError, Kind } from "../wire/index.ts";

export interface StartOptions {
  /** Beside what its environment holds anyway. */
  env?: Record<string, string>;
  /** How long it has to end after its stdin did, and again after TERM; milliseconds. */
  graceMs?: number;
}

/** A component whose manifest is read: what it is, and how to open a connection to it, as often as needed. */
export interface Reached {
  name: string;
  kind: Kind | undefined;
  scopes: readonly string[] | undefined;
  /** A child process that may be started again when it dies. */
  restartable: boolean;
  /** Reached by a URL: its tools ask before they run, until the app's policy says otherwise. */
  remote?: boolean;
  /** In this process: settles when its `main` has ended, with what it threw. */
  outcome?: Promise<BytebotError | undefined>;
  connect: Connect;
  /** What serves HTTP: where, and the token it is presented. */
  http?: { stream: URL; inbox: URL; token: string | undefined };
  /** A child process: starts one and leaves its bytes to the caller, for whoever has to see them. */
  start?: (signal: AbortSignal, onStderr: (line: string) => void, more?: StartOptions) => Promise<ChildStreams>;
}
