import type { ByteBotOptions } from "../../src/index.ts";
import type { Kind, Main } from "../../src/sdk/index.ts";

/** A scenario that plays the same over every transport: each satellite waits for events, never for time. */
export interface Script {
  /** Of its file in spec/transcripts. */
  name: string;
  /** One sentence, for whoever looks for an example. */
  about: string;
  app?: Pick<ByteBotOptions, "limits" | "policy" | "contextFallback">;
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
  /** Comes when that one has left, and gets its last cursor as the option `cursor`. */
  after?: string;
}

/** Which script this is, with its cast checked by the compiler. */
export function script(script: Script): Script {
  return script;
}
