import { offer, type Hub } from "../hub/index.ts";
import { LateReceiver, listenSocket, type Connect, type Receiver, type SocketServer } from "../transport/index.ts";
import { BytebotError } from "../wire/index.ts";

/** As long as the Hub itself waits for a bb_sync; milliseconds. */
const SYNC_MS = 10_000;

export interface LocalOptions {
  hub: Hub;
  /** Of those that are connected; what else makes ids looks here too. */
  ids: Set<string>;
  /** An id that no component has, after this name. */
  newId: (name: string) => string;
  signal: AbortSignal;
  report: (line: string) => void;
}

/**
 * Joins programs of this user over a Unix socket: as what their `bb_sync` says, a `ui` (another screen, `bytebot chat
 * --join`; with `owner`, the app's owner too, `bytebot token`) or a `telemetry` with content (`bytebot tail`).
 */
export async function listenLocally(
  path: string,
  { hub, ids, newId, signal, report }: LocalOptions,
): Promise<SocketServer> {
  return listenSocket(path, (open) => {
    join(open).catch((error: unknown) => report(`a program on the local socket: ${String(error)}`));
  });

  async function join(open: Connect): Promise<void> {
    const early = new LateReceiver();
    const link = await open(early, signal);
    const late = setTimeout(() => {
      const error = new BytebotError("timeout", `no bb_sync within ${SYNC_MS / 1000} s`);
      link.send({ event_type: "bb_error", ...error.toWire() });
      void link.close(error.message);
    }, SYNC_MS);
    const first = await Promise.race([early.first, early.ended]);
    clearTimeout(late);
    if (!first) return;
    const kind = first["kind"] === "ui" ? "ui" : "telemetry";
    const passing = kind === "ui" ? "screen" : "tail";
    const name = newId(passing);
    const content = kind === "telemetry";
    // Whoever can open the socket is the user whose app this is, and may own it: `bytebot token`.
    const roles = { primary: false, controller: false, owner: true };
    const from = offer({ componentId: name, name, passing, kind, content, ...roles });
    ids.add(name);
    const connect = async (receiver: Receiver) => {
      early.become(receiver);
      return link;
    };
    try {
      await (
        await hub.connect(from, connect, signal)
      ).closed;
    } finally {
      ids.delete(name);
    }
  }
}
