import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rm, stat, statfs, utimes } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";

const BEAT_MS = 2_000;
const STALE_MS = 15_000;
const POLL_MS = 300;

/** Where models are kept, per user. An XDG_CACHE_HOME that is not absolute is ignored, as its specification asks. */
export function modelsFolder(env: NodeJS.ProcessEnv = process.env): string {
  const set = env["XDG_CACHE_HOME"];
  return join(set?.startsWith("/") ? set : join(homedir(), ".cache"), "bytebot", "models");
}

/** Refuses to begin what the disk cannot hold: `unavailable`, with both numbers and the fix. */
export async function needDisk(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new BytebotError(
    "unavailable",
    `the download needs ${mb(bytes)} MB free in ${folder}, and there are ${mb(free)} MB: free some, or set XDG_CACHE_HOME to a folder on another disk`,
  );
}

/** Makes the folder; `unavailable` where that is not allowed. */
export async function needFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    const fix = "make it writable, or set XDG_CACHE_HOME to a folder that is";
    throw new BytebotError("unavailable", `${folder} cannot be made (${(cause as Error).message}): ${fix}`, { cause });
  }
}

/**
 * Runs `work` while no other process does the same under this lock file. `waiting` is called once when another has it.
 * A holder that died is noticed: at once on this machine, after 15 s without a sign of life elsewhere.
 */
export async function locked<T>(
  file: string,
  options: { signal: AbortSignal; waiting: () => void },
  work: () => Promise<T>,
): Promise<T> {
  const { signal } = options;
  const mine = JSON.stringify({ host: hostname(), pid: process.pid, nonce: randomUUID() });
  for (let told = false; !(await take(file, mine));) {
    if ((await abandoned(file)) && (await cleared(file, mine))) continue;
    if (!told) options.waiting();
    told = true;
    await delay(POLL_MS, undefined, { signal });
  }
  const beat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if ((await readFile(file, "utf8").catch(() => "")) === mine) await rm(file, { force: true });
  }
}

/** Deletes a lock whose holder has died; false: another is about it. Who had looked earlier would delete the next one's. */
async function cleared(file: string, mine: string): Promise<boolean> {
  const clearing = `${file}.clearing`;
  if (!(await take(clearing, mine))) {
    if (await abandoned(clearing)) await rm(clearing, { force: true });
    return false;
  }
  try {
    if (await abandoned(file)) await rm(file, { force: true });
    return true;
  } finally {
    await rm(clearing, { force: true });
  }
}

async function take(file: string, mine: string): Promise<boolean> {
  try {
    const handle = await open(file, "wx");
    try {
      await handle.writeFile(mine);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function abandoned(file: string): Promise<boolean> {
  try {
    if (Date.now() - (await stat(file)).mtimeMs > STALE_MS) return true;
    const { host, pid } = JSON.parse(await readFile(file, "utf8")) as { host: unknown; pid: unknown };
    return host === hostname() && typeof pid === "number" && !alive(pid);
  } catch {
    // Gone already, or being written this moment: the next look tells.
    return false;
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function mb(bytes: number): number {
  return Math.round(bytes / 1e6);
}
