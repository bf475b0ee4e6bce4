import type { BlobStore } from "../../log/index.ts";
import { base64Bytes, BytebotError, cellOf, fromBase64, type Blob } from "../../wire/index.ts";
import type { BlobOutput } from "./blobs.ts";
import { mustHaveRoom } from "./room.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { inTime } from "../in-time.ts";
import { Recent } from "../recent.ts";
import { Timers, type Clock } from "../timers.ts";
import { Writing, type Promised } from "./writing.ts";

/** One part, its fields checked. */
export interface Part extends Pick<Blob, "mime_type" | "ref" | "size"> {
  id: string;
  scope: string;
  part: number;
  last: boolean;
  data: string;
}

interface Upload {
  scope: string;
  writing: Writing;
  mimeType: string;
  promised: Promised;
  /** The part that is due. */
  next: number;
  /** When the last part came, in milliseconds since 1970. */
  heard: number;
}

interface Sender {
  uploads: Map<string, Upload>;
  /** Uploads that were refused: what still comes of them is dropped. */
  refused: Recent<string, true>;
}

const MAX_REFUSED = 256;
/** Characters of one part: what is decoded and hashed at once, whatever the line limit. */
const MAX_PART = 1024 * 1024;

/** Blobs that come in parts, in order, each under its id (rules BLB-2 to BLB-4). */
export class Uploads {
  private readonly core: Core;
  private readonly store: BlobStore;
  private readonly clock: Clock;
  private readonly out: BlobOutput;
  private readonly timers: Timers;
  private readonly senders = new Map<ConnectionId, Sender>();

  constructor(core: Core, store: BlobStore, clock: Clock, out: BlobOutput) {
    this.core = core;
    this.store = store;
    this.clock = clock;
    this.out = out;
    this.timers = new Timers(clock, (key) => this.silent(key));
  }

  count(from: ConnectionId): number {
    return this.senders.get(from)?.uploads.size ?? 0;
  }

  /** `busy`: the blobs that are on their way at this connection already. */
  part(from: ConnectionId, part: Part, busy: number): void {
    const sender = this.sender(from);
    const open = sender.uploads.get(part.id);
    if (!open && part.part > 0 && sender.refused.get(part.id)) return;
    try {
      const upload = open ?? this.begin(from, sender, part, busy);
      mustFollow(upload, part, open !== undefined);
      this.take(upload, part);
      if (part.last) this.finish(from, sender, part.id, upload);
      else sender.uploads.set(part.id, upload);
    } catch (error) {
      this.refuse(from, part.id, BytebotError.from(error));
    }
  }

  /** Its sender sends no more of it. */
  giveUp(from: ConnectionId, id: string): void {
    const sender = this.senders.get(from);
    const upload = sender?.uploads.get(id);
    if (!sender || !upload) return;
    this.forget(from, id, upload);
    sender.uploads.delete(id);
    sender.refused.set(id, true);
  }

  closed(from: ConnectionId): void {
    const sender = this.senders.get(from);
    this.senders.delete(from);
    for (const [id, upload] of sender?.uploads ?? []) this.forget(from, id, upload);
    // What is still being finished finds itself forgotten.
    sender?.uploads.clear();
  }

  close(): void {
    for (const from of this.senders.keys()) this.closed(from);
    this.timers.clearAll();
  }

  private begin(from: ConnectionId, sender: Sender, part: Part, busy: number): Upload {
    if (part.part > 0) throw new BytebotError("not_found", `no upload "${part.id}" is open: it begins with part 0`);
    mustHaveRoom(this.core, busy);
    const { blobBytes, blobIdleMs } = this.core.limits;
    sender.refused.delete(part.id);
    const writing = new Writing(this.store, cellOf(part.scope), blobBytes);
    const heard = this.clock.now();
    const upload: Upload = {
      scope: part.scope,
      writing,
      mimeType: part.mime_type ?? "application/octet-stream",
      promised: { ref: part.ref, size: part.size },
      next: 0,
      heard,
    };
    // From here on it is found, and what goes wrong ends it.
    sender.uploads.set(part.id, upload);
    this.timers.set(`${from} ${part.id}`, heard + blobIdleMs);
    writing.mustFit(part.size ?? 0);
    return upload;
  }

  private take(upload: Upload, { data, part, last }: Part): void {
    if (data === "" && !last) throw new BytebotError("invalid_params", `part ${part} is empty and not the last`);
    if (data.length > MAX_PART) {
      throw new BytebotError("too_large", `part ${part} has ${data.length} characters; the limit is ${MAX_PART}`);
    }
    upload.writing.mustFit(upload.writing.size + Math.floor(base64Bytes(data)));
    for (const bytes of fromBase64(data)) upload.writing.add(bytes);
    upload.next = part + 1;
    upload.heard = this.clock.now();
  }

  private finish(from: ConnectionId, sender: Sender, id: string, upload: Upload): void {
    const { scope } = upload;
    this.timers.clear(`${from} ${id}`);
    // Until the store has it, it is one of those that are open, and takes no more parts.
    upload.next = Infinity;
    inTime(this.clock, upload.writing.finish(upload.mimeType, upload.promised)).then(
      ({ ref, size, mime_type }) => {
        if (sender.uploads.get(id) === upload) sender.uploads.delete(id);
        const answer = { event_type: "bb_blob", in_reply_to: id, scope, ref, size, mime_type, ts: this.clock.now() };
        this.out.deliver(from, answer);
        this.out.observe(answer);
      },
      (error: unknown) => {
        if (sender.uploads.get(id) === upload) this.refuse(from, id, BytebotError.from(error));
      },
    );
  }

  /** The upload has ended: what came of it is forgotten, and what still comes is dropped. */
  private refuse(from: ConnectionId, id: string, error: BytebotError): void {
    this.giveUp(from, id);
    this.sender(from).refused.set(id, true);
    this.out.refuse(from, { event_type: "bb_blob", id }, error);
  }

  private forget(from: ConnectionId, id: string, upload: Upload): void {
    this.timers.clear(`${from} ${id}`);
    void upload.writing.discard();
  }

  private silent(key: string): void {
    const [from, id] = key.split(" ") as [string, string];
    const upload = this.senders.get(from)?.uploads.get(id);
    if (!upload) return;
    const { blobIdleMs } = this.core.limits;
    if (this.clock.now() < upload.heard + blobIdleMs) return this.timers.set(key, upload.heard + blobIdleMs);
    const message = `part ${upload.next} of this blob did not come within ${blobIdleMs / 1000} s`;
    this.refuse(from, id, new BytebotError("timeout", message, { retryable: true }));
  }

  private sender(from: ConnectionId): Sender {
    let sender = this.senders.get(from);
    if (!sender) {
      sender = { uploads: new Map(), refused: new Recent(MAX_REFUSED) };
      this.senders.set(from, sender);
    }
    return sender;
  }
}

function mustFollow(upload: Upload, part: Part, open: boolean): void {
  if (open && part.part === 0) {
    throw new BytebotError("conflict", `an upload "${part.id}" is open: each has an id of its own`);
  }
  if (part.scope !== upload.scope) {
    throw new BytebotError("invalid_params", `part ${part.part} names another scope than part 0`);
  }
  if (part.part !== upload.next) {
    throw new BytebotError("invalid_params", `part ${part.part} came where part ${upload.next} was due`);
  }
}
