/** The log of a measured Hub: in memory, or on disk with one promise or the other. And the least that a commit on disk costs. */
import { ByteBot } from "bytebot";
import { inFolder } from "./files.ts";
import { readLines, startChild } from "./lines.ts";
import { percentiles } from "./work.ts";

export type Kept = "memory" | "normal" | "full";

/** An app with that log, its file gone with it. `options`: as a ByteBot's. */
export function withHub<T>(
  kept: Kept,
  options: ConstructorParameters<typeof ByteBot>[0],
  work: (hub: ByteBot) => Promise<T>,
): Promise<T> {
  return inFolder(async (folder) => {
    await using hub =
      kept === "memory"
        ? new ByteBot({ ...options })
        : await ByteBot.open({ ...options, file: `${folder}/log.db`, synchronous: kept });
    return await work(hub);
  });
}

/** The work, and what a commit of one row, FULL, in node:sqlite alone takes on the same disk meanwhile: the median, in µs. */
export function besideCommits<T>(work: () => Promise<T>, signal: AbortSignal): Promise<{ done: T; raw_us: number }> {
  return inFolder(async (folder) => {
    await using child = startChild("commits.ts", signal, `${folder}/raw.db`);
    const times: number[] = [];
    readLines<number>(child.stdout, (took) => times.push(took));
    const done = await Promise.race([work(), child.gone]);
    return { done, raw_us: percentiles(times).p50_us };
  });
}
