import { createHash, type Hash } from "node:crypto";
import type { BlobWriter, SqliteBlobs } from "../../log/index.ts";
import { BytebotError, isScope, type Event } from "../../wire/index.ts";

/** Blobs that come in parts, one after the other, as an export writes them. */
export class BlobParts {
  private readonly blobs: Pick<SqliteBlobs, "create">;
  private count = 0;
  private current: { key: string; next: number; writer: BlobWriter; hash: Hash } | undefined;

  constructor(blobs: Pick<SqliteBlobs, "create">) {
    this.blobs = blobs;
  }

  async add({ scope, ref, mime_type: mimeType, part, last, data }: Event): Promise<void> {
    if (!isScope(scope) || typeof ref !== "string" || typeof data !== "string" || typeof mimeType !== "string")
      throw new BytebotError("invalid_event", "a bb_blob of a log has a scope, ref, mime_type and data");
    const key = `${scope} ${ref}`;
    if (part === 0) {
      await this.current?.writer.discard();
      this.current = { key, next: 0, writer: this.blobs.create(scope), hash: createHash("sha256") };
    }
    const { current } = this;
    if (current?.key !== key || current.next !== part)
      throw new BytebotError("invalid_event", `the blob ${ref} has no part ${current?.next ?? 0} before this one`);
    const bytes = Buffer.from(data, "base64");
    current.hash.update(bytes);
    current.next++;
    if (bytes.length > 0) await current.writer.write(bytes);
    if (last !== true) return;
    const found = `sha256-${current.hash.digest("hex")}`;
    if (found !== ref) throw new BytebotError("invalid_event", `the bytes of the blob ${ref} are ${found}`);
    await current.writer.commit(ref, mimeType);
    this.current = undefined;
    this.count++;
  }

  /** How many were whole. Throws where the last one is not. */
  end(): number {
    if (this.current)
      throw new BytebotError("invalid_event", `the blob of ${this.current.key} ends before its last part`);
    return this.count;
  }
}
