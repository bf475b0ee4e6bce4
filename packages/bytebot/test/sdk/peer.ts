import { inprocPair, type Link, type Receiver } from "../../src/transport/index.ts";
import type { Event, Kind } from "../../src/wire/index.ts";
import { startInproc, sync, type Ambient, type Satellite, type SyncOptions } from "../../src/sdk/index.ts";
import { Ears } from "../transport/ears.ts";

/** The other end of the wire: plain events, written by the test. */
export class Peer extends Ears {
  link!: Link;

  ambient(fields: Partial<Ambient> = {}): Ambient {
    return {
      connect: (receiver: Receiver) => {
        const pair = inprocPair("the satellite", this, receiver);
        this.link = pair.hub;
        return pair.satellite;
      },
      opts: {},
      signal: new AbortController().signal,
      name: "test",
      ...fields,
    };
  }

  send(...events: Event[]): void {
    for (const event of events) this.link.send(event);
  }

  /** Answers `bb_sync`. */
  async accept(kind: Kind, more: object = {}): Promise<Event> {
    const sync = await this.next("bb_sync");
    this.send(ack(kind, more));
    return sync;
  }
}

export function ack(kind: Kind, more: object = {}): Event {
  return {
    event_type: "bb_sync_ack",
    component_id: "c_1",
    protocol_version: 1,
    kind,
    scopes: ["*"],
    input_capable: kind === "ui",
    primary: false,
    controller: false,
    limits: { line_bytes: 1024 * 1024, values: 10_000, depth: 64 },
    hub: { name: "bytebot", version: "0.1.0" },
    ...more,
  };
}

export interface Synced extends AsyncDisposable {
  peer: Peer;
  satellite: Satellite;
  /** What `start` resolved with. */
  reason: Promise<string>;
}

/** A satellite that has synced with a peer and, once `setup` has registered its handlers, started. */
export async function synced(
  options: SyncOptions,
  setup: (satellite: Satellite) => void,
  more: object = {},
): Promise<Synced> {
  const peer = new Peer();
  const ready = Promise.withResolvers<Satellite>();
  const reason = Promise.withResolvers<string>();
  const main = async (): Promise<void> => {
    const satellite = await sync(options);
    setup(satellite);
    const started = satellite.start();
    ready.resolve(satellite);
    reason.resolve(await started);
  };
  const running = startInproc(main, peer.ambient());
  running.catch((error: unknown) => {
    ready.reject(error);
    reason.reject(error);
  });
  await peer.accept(options.kind, more);
  const satellite = await ready.promise;
  return {
    peer,
    satellite,
    reason: reason.promise,
    [Symbol.asyncDispose]: async () => {
      await satellite.close();
      await running;
    },
  };
}
