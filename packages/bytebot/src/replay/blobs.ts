import { MemoryBlobs, type BlobStore, type StoredBlob } from "../log/index.ts";
import type { Block } from "../wire/index.ts";
import type { Recorded } from "./recording.ts";

/** Content by reference that a recording names, by its reference. */
export function blobsIn(events: readonly Recorded[]): Map<string, Block> {
  const blobs = new Map<string, Block>();
  for (const { event } of events) {
    const { content, block } = event as { content?: Block[]; block?: Block };
    for (const each of [...(Array.isArray(content) ? content : []), ...(block ? [block] : [])])
      if (each.type === "blob") blobs.set(String(each["ref"]), each);
  }
  return blobs;
}

/** What a recording names is there, in the size that it says. */
export class RecordedBlobs implements BlobStore {
  private readonly named: ReadonlyMap<string, Block>;
  private readonly kept = new MemoryBlobs();

  constructor(named: ReadonlyMap<string, Block>) {
    this.named = named;
  }

  create(cell: string): ReturnType<BlobStore["create"]> {
    return this.kept.create(cell);
  }

  async find(cell: string, ref: string): Promise<StoredBlob | undefined> {
    const block = this.named.get(ref);
    if (!block) return this.kept.find(cell, ref);
    return { ref, size: Number(block["size"]), mimeType: String(block["mime_type"]), read: nothing };
  }

  drop(cell: string): Promise<void> {
    return this.kept.drop(cell);
  }

  close(): Promise<void> {
    return this.kept.close();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
