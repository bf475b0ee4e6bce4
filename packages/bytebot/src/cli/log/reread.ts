import { randomUUID } from "node:crypto";
import { open, unlink, type FileHandle } from "node:fs/promises";
import { BytebotError } from "../../wire/index.ts";

const CHUNK_BYTES = 64 * 1024;

/**
 * Opens what is read more than once, each time from its start: a file, a pipe, or stdin as "-". A pipe gives what it has once: that
 * is put aside beside the log, in a file without a name, so that nothing of it is left, however this ends. Throws `not_found`.
 */
export async function openToReread(file: string, log: string): Promise<FileHandle> {
  const given =
    file === "-" ? undefined : await open(file).catch((error: unknown) => Promise.reject(unreadable(file, error)));
  if (given && (await given.stat()).isFile()) return given;
  const name = `${log}.${randomUUID()}.import`;
  const aside = await open(name, "wx+", 0o600);
  try {
    await unlink(name);
    await aside.writeFile(given?.createReadStream() ?? process.stdin);
    return aside;
  } catch (error) {
    await aside.close();
    throw unreadable(file, error);
  }
}

/** All of an open file, from its start. What is yielded is overwritten by what comes next. */
export async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Says which file it was. */
export function unreadable(file: string, error: unknown): BytebotError {
  return new BytebotError("not_found", `${nameOf(file)} cannot be read: ${BytebotError.from(error).message}`, {
    cause: error,
  });
}

/** What a person calls it. */
export function nameOf(file: string): string {
  return file === "-" ? "stdin" : file;
}
