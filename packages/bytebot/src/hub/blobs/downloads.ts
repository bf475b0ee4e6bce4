import { BytebotError, type Event } from "../../wire/index.ts";
import type { BlobOutput, Blobs } from "./blobs.ts";
import { mustHaveRoom } from "./room.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { inTime } from "../in-time.ts";
import type { Clock } from "../timers.ts";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";

/** What a connection asks for. */
export interface Asked {
  id: string;
  scope: string;
  ref: string;
}

/** Blobs that go out in parts, at the pace of whoever asked (rule BLB-5). */
export class Downloads {
  private readonly core: Core;
  private readonly blobs: Blobs;
  private readonly clock: Clock;
  private readonly out: BlobOutput;
  private readonly open = new Map<ConnectionId, Map<string, AbortController>>();

  constructor(core: Core, blobs: Blobs, clock: Clock, out: BlobOutput) {
    this.core = core;
    this.blobs = blobs;
    this.clock = clock;
    this.out = out;
  }

  count(to: ConnectionId): number {
    return this.open.get(to)?.size ?? 0;
  }

  /** `busy`: the blobs that are on their way at this connection already. */
  start(to: ConnectionId, asked: Asked, busy: number): void {
    mustHaveRoom(this.core, busy);
    const all = this.open.get(to) ?? new Map<string, AbortController>();
    if (all.has(asked.id)) {
      throw new BytebotError("conflict", `a blob is on its way for "${asked.id}": each request has an id of its own`);
    }
    const stop = new AbortController();
    this.open.set(to, all.set(asked.id, stop));
    this.send(to, asked, stop.signal)
      .catch((error: unknown) => {
        if (!stop.signal.aborted)
          this.out.refuse(to, { event_type: "bb_blob", id: asked.id }, BytebotError.from(error));
      })
      .finally(() => {
        if (all.get(asked.id) === stop) all.delete(asked.id);
        if (all.size === 0 && this.open.get(to) === all) this.open.delete(to);
      });
  }

  /** Whoever asked wants no more of it. */
  giveUp(to: ConnectionId, id: string): void {
    const all = this.open.get(to);
    all?.get(id)?.abort();
    all?.delete(id);
  }

  closed(to: ConnectionId): void {
    for (const stop of this.open.get(to)?.values() ?? []) stop.abort();
    this.open.delete(to);
  }

  close(): void {
    for (const to of this.open.keys()) this.closed(to);
  }

  private async send(to: ConnectionId, { id, scope, ref }: Asked, signal: AbortSignal): Promise<void> {
    const blob = await inTime(this.clock, this.blobs.find(scope, ref));
    if (signal.aborted) return;
    const about = { ref, size: blob.size, mime_type: blob.mimeType };
    const from = this.core.synced(to)?.offer.componentId;
    this.out.observe({ event_type: "bb_blob", id, scope, ...about, from, ts: this.clock.now() });
    let part = 0;
    const send = async (bytes: Uint8Array, last: boolean): Promise<void> => {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
      const event: Event = { event_type: "bb_blob", in_reply_to: id, scope, part, last, data, ts: this.clock.now() };
      this.out.deliver(to, part === 0 ? { ...event, ...about } : event);
      part++;
      if (last) return;
      await this.drained(to, signal);
      await turnOfTheLoop();
    };
    // One piece behind: whether it is the last shows with the next.
    let ready: Uint8Array | undefined;
    for await (const piece of blob.read()) {
      if (signal.aborted) return;
      if (ready) await send(ready, false);
      ready = piece;
    }
    if (!signal.aborted) await send(ready ?? new Uint8Array(), true);
  }

  /** Waits for a reader that is behind, as long as it may be silent. */
  private async drained(to: ConnectionId, signal: AbortSignal): Promise<void> {
    const link = this.out.link(to);
    if (!link) return;
    const { blobIdleMs } = this.core.limits;
    const late = Promise.withResolvers<never>();
    const tooLate = () => late.reject(new BytebotError("timeout", `no part was read for ${blobIdleMs / 1000} s`));
    const gone = () => late.reject(new BytebotError("cancelled", "the connection is gone"));
    const callOff = this.clock.after(blobIdleMs, tooLate);
    signal.addEventListener("abort", gone, { once: true });
    try {
      await Promise.race([link.drained(), late.promise]);
    } finally {
      callOff();
      signal.removeEventListener("abort", gone);
    }
  }
}
