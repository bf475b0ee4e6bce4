import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { BytebotError } from "bytebot/sdk";
import type { Pin } from "./pinned.ts";

/** Size in bytes, or undefined where there is no such file. */
export async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Refuses a file that is not the pinned one, by name, with what is wrong and the fix: `invalid_params`. */
export async function check(file: string, pin: Pin, signal: AbortSignal): Promise<void> {
  const { size } = await stat(file);
  if (size !== pin.bytes) {
    const what = size < pin.bytes ? "was cut short" : "is another file";
    throw refused(file, `${what}: it has ${size} bytes, ${pin.name} has ${pin.bytes}`);
  }
  const sum = createHash("sha256");
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), sum, { signal });
  const sha256 = sum.digest("hex");
  if (sha256 !== pin.sha256) {
    throw refused(file, `is another file or damaged: its sha256 is ${sha256}, that of ${pin.name} is ${pin.sha256}`);
  }
}

/** As `check`, but an unchanged file (size and mtime) is hashed once: a stamp beside it remembers. */
export async function verify(file: string, pin: Pin, signal: AbortSignal): Promise<void> {
  if ((await readFile(`${file}.verified`, "utf8").catch(() => "")) === (await stampText(file, pin))) return;
  await check(file, pin, signal);
  await stamp(file, pin);
}

/** Remembers that the file was checked. Where that cannot be written, the next start checks again: slower, never wrong. */
export async function stamp(file: string, pin: Pin): Promise<void> {
  await writeFile(`${file}.verified`, await stampText(file, pin)).catch(() => undefined);
}

/** A GGUF begins with these four bytes; anything else would fail later and say less. */
export async function looksLikeGguf(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString("latin1") === "GGUF";
  } finally {
    await handle.close();
  }
}

async function stampText(file: string, pin: Pin): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  return JSON.stringify({ sha256: pin.sha256, size, mtimeMs });
}

function refused(file: string, why: string): BytebotError {
  return new BytebotError("invalid_params", `${file} ${why}. Delete it and start again: it is then downloaded anew`);
}
