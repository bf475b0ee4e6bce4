import { BytebotError } from "../wire/index.ts";
import type { BlobBlock, Block, Message } from "../wire/index.ts";

export interface ResolveOptions {
  /** Which media are wanted; absent: images and audio. Others stay references. */
  types?: RegExp | undefined;
  /** Bytes of all of them together; those beyond it stay references. Default: 32 MiB. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

export type ReadBytes = (ref: string) => Promise<Uint8Array>;

const MAX_BYTES = 32 * 1024 * 1024;
const MEDIA = /^(?:image|audio)\//;

/**
 * The messages with the bytes of their blobs in place, the newest first while there is room: what a provider is sent.
 * What is not wanted, too much or not there stays a reference.
 */
export async function resolveBlobs(
  messages: readonly Message[],
  read: ReadBytes,
  { types = MEDIA, maxBytes = MAX_BYTES }: ResolveOptions,
): Promise<Message[]> {
  const found = new Map<string, string>();
  let left = maxBytes;
  for (const block of messages.flatMap(blobsOf).reverse()) {
    if (!types.test(block.mime_type) || found.has(block.ref) || block.size > left) continue;
    const bytes = await read(block.ref).catch((error: unknown) => {
      if (BytebotError.from(error).code !== "not_found") throw error;
      return undefined;
    });
    if (!bytes) continue;
    left -= bytes.length;
    found.set(block.ref, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"));
  }
  const inPlace = (block: Block): Block => {
    if (block.type === "tool_result") return { ...block, content: (block["content"] as Block[]).map(inPlace) } as Block;
    if (block.type !== "blob") return block;
    const { ref, mime_type } = block as BlobBlock;
    const data = found.get(ref);
    return data === undefined ? block : ({ type: kindOf(mime_type), mime_type, data } as Block);
  };
  return messages.map((message) => ({ ...message, content: message.content.map(inPlace) }));
}

function blobsOf(message: Message): BlobBlock[] {
  return message.content.flatMap((block) =>
    block.type === "tool_result" ? (block["content"] as Block[]).filter(isBlob) : isBlob(block) ? [block] : [],
  );
}

function isBlob(block: Block): block is BlobBlock {
  return block.type === "blob";
}

function kindOf(mimeType: string): "image" | "audio" | "file" {
  if (mimeType.startsWith("image/")) return "image";
  return mimeType.startsWith("audio/") ? "audio" : "file";
}
