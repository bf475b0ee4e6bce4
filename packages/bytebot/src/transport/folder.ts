import { lstat, mkdir, stat } from "node:fs/promises";
import { BytebotError } from "../wire/index.ts";

/** Makes this folder where there is none (0700). Rejects with `forbidden` where others could reach what is put there. */
export async function ownFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await assertOwn(folder);
}

/**
 * Rejects with `forbidden` where this folder is not this user's alone: anybody may have made it first, where all may write, and
 * what is in it is then theirs. The folder is what keeps others out: on some systems a socket's own mode does not. Says nothing
 * of one that is not there.
 */
export async function assertOwn(folder: string): Promise<void> {
  const me = process.getuid?.();
  // Windows has no such modes; its folder for temporary files is in the user's profile.
  if (me === undefined) return;
  const found = await Promise.all([stat(folder), lstat(folder)]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new BytebotError("forbidden", `${folder} cannot be looked at: ${error.message}`, { cause: error });
  });
  if (found === undefined) return;
  const [there, link] = found;
  // Whoever owns a link may point it elsewhere at any time.
  const isOurs = there.uid === me && link.uid === me;
  if (isOurs && (there.mode & 0o077) === 0) return;
  throw new BytebotError(
    "forbidden",
    `${folder} ${isOurs ? "is open to other users" : "belongs to another user"}; put the socket into a folder of your own, with mode 700, or name one in XDG_RUNTIME_DIR`,
  );
}
