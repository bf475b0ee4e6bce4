import { dialApp, type Place } from "../app/join.ts";
import { BytebotError } from "../wire/index.ts";
import { isBytebotError, UsageError } from "./errors.ts";
import { socketFolder, socketOf, sockets } from "./socket.ts";

/** On the command line: which of this user's running apps; absent: the newest. */
export const appOptions = { pid: { type: "string" }, socket: { type: "string" } } as const;

export interface AppValues {
  pid?: string | undefined;
  socket?: string | undefined;
}

/** Dials the app that is meant. Rejects with `unavailable` where it does not run, and throws UsageError. */
export async function dialMeant(command: string, { pid, socket }: AppValues, signal: AbortSignal): Promise<Place> {
  if (pid !== undefined && !/^\d+$/.test(pid)) throw new UsageError(command, `--pid ${pid} is no process id`);
  if (pid !== undefined && socket !== undefined) throw new UsageError(command, "--pid and --socket name two apps");
  const named = socket ?? (pid === undefined ? undefined : socketOf(Number(pid)));
  return named === undefined ? dialNewest(signal) : dialApp(named, signal);
}

async function dialNewest(signal: AbortSignal): Promise<Place> {
  for (const path of await sockets()) {
    try {
      return await dialApp(path, signal);
    } catch (error) {
      // Left behind by an app that was killed: the next one may live.
      if (!isBytebotError(error) || error.code !== "unavailable") throw error;
    }
  }
  throw new BytebotError(
    "unavailable",
    `no running app has its socket in ${socketFolder()}: start one with bytebot run or bytebot chat`,
  );
}
