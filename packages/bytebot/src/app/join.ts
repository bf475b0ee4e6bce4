import { dialHttp } from "../sdk/http.ts";
import { startInproc, type Main } from "../sdk/ambient.ts";
import { dialSocket, LateReceiver, type Link, type Receiver } from "../transport/index.ts";

export interface JoinOptions {
  opts?: Record<string, unknown>;
  /** Ends it. */
  signal: AbortSignal;
}

/** A way to a running app: its socket, dialled already, or its URL. */
export type Place = { link: Link; early: LateReceiver } | { url: string; token?: string | undefined };

/** Dials the socket of a running app. Rejects with `unavailable` where nothing listens there. */
export async function dialApp(path: string, signal: AbortSignal): Promise<Place> {
  const early = new LateReceiver();
  return { link: await dialSocket(path)(early, signal), early };
}

/**
 * Runs a satellite's `main` here, in an app of another process, once: it ends with its connection, as nobody knows what a
 * second run would say again. Rejects with what `main` threw, and where the app cannot be reached or refuses it.
 */
export async function join(main: Main, place: Place, { opts = {}, signal }: JoinOptions): Promise<void> {
  if ("url" in place) return joinOverHttp(main, place, opts, signal);
  const { link, early } = place;
  const connect = (receiver: Receiver): Link => {
    early.become(receiver);
    return link;
  };
  try {
    await startInproc(main, { name: "the app", opts, signal, connect });
  } finally {
    await link.close("it left");
  }
}

async function joinOverHttp(
  main: Main,
  { url, token }: { url: string; token?: string | undefined },
  opts: Record<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  let thrown: { error: unknown } | undefined;
  const once: Main = async (start) => {
    try {
      await main(start);
    } catch (error) {
      thrown = { error };
    } finally {
      over.abort();
    }
  };
  await dialHttp(once, { url, token, opts, signal: AbortSignal.any([signal, over.signal]) });
  if (thrown && !signal.aborted) throw thrown.error;
}
