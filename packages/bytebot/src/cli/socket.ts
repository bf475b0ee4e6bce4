import { readdir, stat } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { assertOwn } from "../app/places.ts";

/** Where this user's running apps listen for `bytebot tail`, one `<pid>.sock` each. */
export function socketFolder(): string {
  const runtime = process.env["XDG_RUNTIME_DIR"];
  return runtime ? join(runtime, "bytebot") : join(tmpdir(), `bytebot-${process.getuid?.() ?? userInfo().username}`);
}

export function socketOf(pid: number): string {
  return join(socketFolder(), `${pid}.sock`);
}

/**
 * All of them, the newest first; one may be what a killed app left behind. Rejects with `forbidden` where others may have put
 * them there.
 */
export async function sockets(): Promise<string[]> {
  const folder = socketFolder();
  await assertOwn(folder);
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const files = names.filter((name) => name.endsWith(".sock")).map((name) => join(folder, name));
  const born = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ ctimeMs }) => ctimeMs,
        () => 0,
      ),
    ),
  );
  return files
    .map((file, index) => ({ file, at: born[index]! }))
    .sort((a, b) => b.at - a.at)
    .map(({ file }) => file);
}
