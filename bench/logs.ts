/** The log of a measured Hub: in memory, or on disk with one promise or the other. And the least that a commit on disk costs. */
import { DatabaseSync } from "node:sqlite";
import { ByteBot } from "bytebot";
import { inFolder } from "./files.ts";
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

const COMMITS = 200;

/** µs of a commit of one row, FULL, in node:sqlite alone: the median. */
export function rawCommit(): Promise<number> {
  return inFolder(async (folder) => {
    const db = new DatabaseSync(`${folder}/raw.db`);
    try {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE entries (events TEXT)");
      const insert = db.prepare("INSERT INTO entries VALUES (?)");
      const times = Array.from({ length: COMMITS }, () => {
        const started = performance.now();
        insert.run("x".repeat(600));
        return (performance.now() - started) * 1e3;
      });
      return percentiles(times).p50_us;
    } finally {
      db.close();
    }
  });
}
