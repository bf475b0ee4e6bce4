import type { BlobStore, StoredBlob } from "../../log/index.ts";
import type { Link } from "../../transport/index.ts";
import { BytebotError, cellOf, isScope, type Blob, type BlobBlock, type Event, type Keep } from "../../wire/index.ts";
import { mustHaveRoom } from "./room.ts";
import type { Core } from "../core.ts";
import { Downloads } from "./downloads.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import { sinkAllows } from "../readers/readers.ts";
import { Uploads } from "./uploads.ts";
import type { Clock } from "../timers.ts";
import { Writing } from "./writing.ts";

/** What blobs need of the Hub around them. */
export interface BlobOutput {
  link(to: ConnectionId): Link | undefined;
  /** To the connection, past the check at the sink, and to no observer: these are bytes. */
  deliver(to: ConnectionId, event: Event): void;
  /** Tells the sender of this event why. */
  refuse(to: ConnectionId, event: Event, error: BytebotError): void;
  /** For telemetry: what came or went, without its bytes. */
  observe(event: Event): void;
}

/** Bytes for a program in the Hub's process or over HTTP. `size` in bytes. */
export interface BlobStream {
  ref: string;
  size: number;
  mimeType: string;
  stream: AsyncIterable<Uint8Array>;
}

export interface PutOptions {
  /** Default: application/octet-stream. */
  mimeType?: string | undefined;
  /** What its sender says it has, in bytes. */
  size?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Content by reference, whatever carries its bytes: in parts as `bb_blob`, or as a stream (`put` and `get`). Each way
 * passes the same check of the scope, and a blob is found in the cell that it was put to alone (rules BLB-2 to BLB-6).
 */
export class Blobs {
  private readonly core: Core;
  private readonly store: BlobStore;
  private readonly out: BlobOutput;
  private readonly uploads: Uploads;
  private readonly downloads: Downloads;
  /** Requests of HTTP that carry one, by connection. */
  private readonly carried = new Map<ConnectionId, number>();

  constructor(core: Core, store: BlobStore, clock: Clock, out: BlobOutput) {
    this.core = core;
    this.store = store;
    this.out = out;
    this.uploads = new Uploads(core, store, clock, out);
    this.downloads = new Downloads(core, this, clock, out);
  }

  /** A `bb_blob` that has passed the table, its schema and the check of its scope; a `bb_error` gives one up. */
  receive(from: ConnectionId, event: Event): void {
    if (event.event_type === "bb_error") {
      this.uploads.giveUp(from, String(event["in_reply_to"]));
      return this.downloads.giveUp(from, String(event["in_reply_to"]));
    }
    try {
      this.route(from, event as Blob & Event);
    } catch (error) {
      this.out.refuse(from, event, BytebotError.from(error));
    }
  }

  /** Its link is gone, and with it what it had not finished. */
  closed(connection: ConnectionId): void {
    this.uploads.closed(connection);
    this.downloads.closed(connection);
  }

  /**
   * Keeps a stream as a blob of the scope; with `ref` only where the bytes are that. Rejects with `not_found` where the
   * connection may not touch the scope, `too_large`, `overloaded`, `invalid_params`, or `cancelled` by `signal`.
   */
  async put(
    connection: ConnectionId,
    scope: string,
    ref: string | undefined,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { mimeType = "application/octet-stream", size, signal }: PutOptions = {},
  ): Promise<BlobBlock> {
    this.check(connection, scope);
    const block = await this.write(scope, { mimeType, source, size, ref, signal });
    this.told(connection, scope, block);
    return block;
  }

  /** A blob of the scope's cell as a stream. Rejects with `not_found`, for no such blob and for no such scope. */
  async get(connection: ConnectionId, scope: string, ref: string): Promise<BlobStream> {
    this.check(connection, scope);
    const blob = await this.find(scope, ref);
    const { size, mimeType } = blob;
    this.told(connection, scope, { ref, size, mime_type: mimeType });
    return { ref, size, mimeType, stream: blob.read() };
  }

  /** Silence after which a blob on its way is given up, in milliseconds. */
  get idleMs(): number {
    return this.core.limits.blobIdleMs;
  }

  /** A request carries a blob, either way, until what this answers is called. Throws `overloaded` (rule BLB-4). */
  carry(connection: ConnectionId): () => void {
    mustHaveRoom(this.core, this.busy(connection));
    const { carried } = this;
    carried.set(connection, (carried.get(connection) ?? 0) + 1);
    return () => {
      const left = carried.get(connection)! - 1;
      if (left > 0) carried.set(connection, left);
      else carried.delete(connection);
    };
  }

  /** For the Hub's own use: content of an event in this scope, whose sender was checked. */
  keep(scope: string): Keep {
    return ({ size, mimeType, pieces }) => this.write(scope, { mimeType, source: pieces, size });
  }

  /** Rejects with `not_found`. The scope was checked. */
  async find(scope: string, ref: string): Promise<StoredBlob> {
    const blob = await this.store.find(cellOf(scope), ref);
    if (!blob) throw new BytebotError("not_found", `no blob "${ref}" in scope "${scope}"`);
    return blob;
  }

  async close(): Promise<void> {
    this.uploads.close();
    this.downloads.close();
    await this.store.close();
  }

  private route(from: ConnectionId, event: Blob & Event): void {
    const { id, scope, part, last, data, ref } = event;
    if (id === undefined || scope === undefined) {
      throw new BytebotError("invalid_event", `bb_blob has no ${id === undefined ? "id" : "scope"}`);
    }
    if (data === undefined && ref !== undefined) {
      return this.downloads.start(from, { id, scope, ref }, this.busy(from));
    }
    if (data === undefined || part === undefined || last === undefined) {
      throw new BytebotError("invalid_event", "bb_blob: part, last and data bring bytes, a ref alone asks for them");
    }
    this.uploads.part(from, { ...event, id, scope, part, last, data }, this.busy(from));
  }

  /** On their way at this connection, whatever carries them. */
  private busy(connection: ConnectionId): number {
    return this.uploads.count(connection) + this.downloads.count(connection) + (this.carried.get(connection) ?? 0);
  }

  private async write(
    scope: string,
    from: {
      mimeType: string;
      source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
      size?: number | undefined;
      ref?: string | undefined;
      signal?: AbortSignal | undefined;
    },
  ): Promise<BlobBlock> {
    const writing = new Writing(this.store, cellOf(scope), this.core.limits.blobBytes);
    try {
      writing.mustFit(from.size ?? 0);
      await writing.addAll(from.source, from.signal);
      return await writing.finish(from.mimeType, { ref: from.ref, size: from.size });
    } catch (error) {
      await writing.discard();
      throw from.signal?.aborted ? BytebotError.from(error, "cancelled") : error;
    }
  }

  /** The two checks of the wall, one apart from the other (rules SCP-7 and SCP-8). */
  private check(connection: ConnectionId, scope: string): void {
    const synced = this.core.synced(connection);
    if (!synced) throw new BytebotError("not_synced", "this connection has not synced, or is gone");
    if (
      !isScope(scope) ||
      !mayTouch(synced, scope) ||
      !sinkAllows(synced.grant.scopes, { event_type: "bb_blob", scope })
    )
      throw new BytebotError("not_found", `no scope "${scope.slice(0, 80)}"`);
  }

  private told(connection: ConnectionId, scope: string, about: { ref: string; size: number; mime_type: string }): void {
    const { ref, size, mime_type } = about;
    const from = this.core.synced(connection)?.offer.componentId;
    this.out.observe({ event_type: "bb_blob", scope, ref, size, mime_type, ...(from === undefined ? {} : { from }) });
  }
}
