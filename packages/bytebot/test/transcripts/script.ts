import type { ByteBotOptions } from "../../src/index.ts";
import type { Kind, Main } from "../../src/sdk/index.ts";

/**
 * A scenario that plays the same over every transport: each satellite waits for events, never for time. All of it happens
 * in one cell, so that the log has one order.
 */
export interface Script {
  /** Of its file in spec/transcripts. */
  name: string;
  /** One sentence, for whoever looks for an example. */
  about: string;
  app?: Pick<ByteBotOptions, "limits" | "policy" | "contextFallback" | "input">;
  /** What the app may be told; absent: nothing. */
  reports?: RegExp;
  /** In the order in which they are connected. The last one leads: when it has left, the app stops. */
  cast: Role[];
}

/** One satellite of a script, by its own `main` and nothing else: it may run in a process of its own. */
export interface Role {
  /** Its component id. */
  name: string;
  kind: Kind;
  main: Main;
  /** Telemetry: message content too. */
  content?: boolean;
  /** So much behind that the Hub holds back what it may. A script with one is played in-proc alone. */
  behind?: true;
  /** Comes when that one has left. */
  after?: string;
  /** Comes when an event of this type has passed, whoever it is for. */
  seen?: string;
  /** What it may see; absent: all. */
  scopes?: string[];
  /** Gets the last cursor of that one, which has left, as the option `cursor`. */
  resumes?: string;
}

/** Which script this is, with its cast checked by the compiler. */
export function script(script: Script): Script {
  return script;
}
