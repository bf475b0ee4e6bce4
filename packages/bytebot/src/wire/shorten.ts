import { base64Bytes, beginning, fromBase64, fromText } from "./bytes.ts";
import type { BlobBlock, InputBlock } from "./content.ts";
import { BytebotError } from "./errors.ts";

/** A block as a tool makes it: its bytes need not be base64 yet. */
export type RawBlock = InputBlock | { type: "image" | "audio" | "file"; mime_type: string; data: Uint8Array };

/** Keeps bytes as a blob of the scope, or rejects with the reason. */
export type Keep = (kept: { size: number; mimeType: string; pieces: Iterable<Uint8Array> }) => Promise<BlobBlock>;

/** For the text that says what was cut, and its reference. */
const NOTE_BYTES = 512;
/** Beyond it references too are only counted. */
const MAX_REFERENCES = 256;
const MIME = /^[\x20-\x7e]{1,128}$/;
const MAX_NAME = 256;
const MAX_REASON = 300;

/**
 * Content of at most `limit` bytes: what is over it is kept whole as blobs. Media become references; text is cut at a
 * character, with a note and a reference to all of the text (rule TOL-10). What cannot be kept is named, with the reason.
 */
export async function shorten(content: readonly RawBlock[], limit: number, keep: Keep): Promise<RawBlock[]> {
  if (sizeOf(content) <= limit) return [...content];
  const texts = content.filter((block) => block.type === "text") as { type: "text"; text: string }[];
  const references = content.filter((block) => block.type !== "text");
  const kept = new Map<RawBlock, InputBlock>();
  for (const block of references.slice(0, MAX_REFERENCES)) kept.set(block, await toReferenceOrNote(block, keep));
  const room = limit - sizeOf([...kept.values()]);
  const cut = sizeOf(texts) > room ? await cutText(texts, Math.max(0, room - NOTE_BYTES), limit, keep) : undefined;
  const all = content.flatMap((block) => {
    if (block.type === "text") return cut ? (cut.get(block) ?? []) : [block];
    return kept.get(block) ?? [];
  });
  const more = references.length - MAX_REFERENCES;
  return more > 0 ? [...all, note(`[${more} more parts left out: over the limit of ${MAX_REFERENCES}]`)] : all;
}

/** Bytes of these blocks on the wire, without the escapes of their text. */
export function sizeOf(content: readonly RawBlock[]): number {
  return content.reduce((sum, block) => sum + blockSize(block), 0);
}

function blockSize(block: RawBlock): number {
  const { text, data, ...rest } = block as { text?: unknown; data?: unknown };
  const around = Buffer.byteLength(JSON.stringify(rest)) + 12;
  const bytes = data instanceof Uint8Array ? Math.ceil(data.length / 3) * 4 : lengthOf(data);
  return around + lengthOf(text) + bytes;
}

function lengthOf(value: unknown): number {
  if (value === undefined) return 0;
  return typeof value === "string" ? Buffer.byteLength(value) : Buffer.byteLength(JSON.stringify(value));
}

/** One block's media as a reference; a reference stays one, without what else it holds. Rejects where it cannot be kept. */
export async function toReference(block: RawBlock, keep: Keep): Promise<InputBlock> {
  const { mime_type, name, data } = block as { mime_type: string; name?: unknown; data: string | Uint8Array };
  const mimeType = mimeTypeOf(mime_type);
  const named = typeof name === "string" ? { name: name.slice(0, MAX_NAME).toWellFormed() } : {};
  if (block.type === "blob") {
    const { type, ref, size } = block as BlobBlock;
    return { type, ref, mime_type: mimeType, size, ...named };
  }
  const pieces = typeof data === "string" ? fromBase64(data) : [data];
  return { ...(await keep({ size: bytesOf(data), mimeType, pieces })), ...named };
}

/** The same, or a note of what is left out and why. */
export async function toReferenceOrNote(block: RawBlock, keep: Keep): Promise<InputBlock> {
  try {
    return await toReference(block, keep);
  } catch (error) {
    const { mime_type, data } = block as { mime_type: string; data: string | Uint8Array };
    const what = `${block.type} (${mimeTypeOf(mime_type)}) of ${bytesOf(data)} bytes`;
    return note(`[${what} left out: ${BytebotError.from(error).message.slice(0, MAX_REASON)}]`);
  }
}

/** Bytes of a block's data. */
export function bytesOf(data: unknown): number {
  if (data instanceof Uint8Array) return data.length;
  return typeof data === "string" ? base64Bytes(data) : 0;
}

function mimeTypeOf(mimeType: string): string {
  return MIME.test(mimeType) ? mimeType : "application/octet-stream";
}

/** The texts that fit, the one that does not cut, the rest only in the blob. */
async function cutText(
  texts: readonly { type: "text"; text: string }[],
  room: number,
  limit: number,
  keep: Keep,
): Promise<Map<RawBlock, InputBlock[]>> {
  const size = texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), texts.length - 1);
  const said = `cut: ${size} bytes in all, limit ${limit}`;
  const after = await keep({ size, mimeType: "text/plain", pieces: joined(texts) }).then(
    (blob) => [note(`[${said}; the whole is kept as the blob that follows]`), blob],
    (error: unknown) => [
      note(`[${said}; the whole is not kept: ${BytebotError.from(error).message.slice(0, MAX_REASON)}]`),
    ],
  );
  const shown = new Map<RawBlock, InputBlock[]>();
  let left = room;
  for (const block of texts) {
    const bytes = blockSize(block);
    if (bytes <= left) {
      shown.set(block, [block]);
      left -= bytes;
      continue;
    }
    const text = beginning(block.text, left);
    shown.set(block, [...(text === "" ? [] : [note(text)]), ...after]);
    break;
  }
  return shown;
}

function* joined(texts: readonly { text: string }[]): Generator<Uint8Array> {
  for (const [index, { text }] of texts.entries()) {
    if (index > 0) yield Buffer.from("\n");
    yield* fromText(text);
  }
}

function note(text: string): InputBlock {
  return { type: "text", text };
}
