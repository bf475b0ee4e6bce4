/**
 * Acknowledged appends to the log on disk, beside node:sqlite in the same kind of file: groups of entries that are
 * appended at once, and the next when all of them are acknowledged, so that a group is one commit.
 */
import { DatabaseSync } from "node:sqlite";
import { openSqliteLog } from "bytebot";
import { inFolder } from "./files.ts";
import type { Measure } from "./measure.ts";
import { chunkEvent, type Figure, micros, percentiles } from "./work.ts";

/** Entries at once, and how many groups of them are measured. */
const GROUPS = [
  { size: 1, groups: 400 },
  { size: 10, groups: 200 },
  { size: 100, groups: 100 },
  { size: 1_000, groups: 20 },
];
const WARM_UP = 20; // groups

const lineOf = (n: number) => JSON.stringify(chunkEvent(n));

/** `append` puts one entry into each of so many cells, and resolves when all of them are on the disk. */
async function groupWork(append: (size: number) => Promise<void> | void, signal: AbortSignal): Promise<Figure> {
  const figure: Figure = {};
  for (let group = 0; group < WARM_UP; group++) await append(100);
  const cpu = process.cpuUsage();
  let acknowledged = 0;
  for (const { size, groups } of GROUPS) {
    const times: number[] = [];
    for (let group = 0; group < groups; group++) {
      signal.throwIfAborted();
      const started = performance.now();
      await append(size);
      times.push((performance.now() - started) * 1e3);
    }
    acknowledged += size * groups;
    const { p50_us } = percentiles(times);
    figure[`per_s_${size}`] = size / (p50_us / 1e6);
    if (size === 1) figure["p50_us"] = p50_us;
  }
  figure["cpu_us"] = micros(cpu) / acknowledged;
  return figure;
}

/** What a log cannot do without, as one table, written by the thread that measures: no thread, no checks, no checksums. */
function raw(hasIndex: boolean, signal: AbortSignal): Promise<Figure> {
  return inFolder(async (folder) => {
    const db = new DatabaseSync(`${folder}/raw.db`);
    try {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      db.exec("CREATE TABLE entries (number INTEGER PRIMARY KEY, cell INTEGER, pos INTEGER, id TEXT, events TEXT)");
      if (hasIndex) db.exec("CREATE UNIQUE INDEX place ON entries (cell, pos)");
      const insert = db.prepare("INSERT INTO entries (cell, pos, id, events) VALUES (?, ?, ?, ?)");
      const heads: number[] = [];
      let ids = 0;
      const append = (size: number) => {
        db.exec("BEGIN IMMEDIATE");
        for (let cell = 0; cell < size; cell++) {
          heads[cell] = (heads[cell] ?? 0) + 1;
          insert.run(cell, heads[cell]!, `id.${++ids}`, `[${lineOf(ids)}]`);
        }
        db.exec("COMMIT");
      };
      return await groupWork(append, signal);
    } finally {
      db.close();
    }
  });
}

function ours(synchronous: "full" | "normal", signal: AbortSignal): Promise<Figure> {
  return inFolder(async (folder) => {
    const { log } = await openSqliteLog({ file: `${folder}/log.db`, synchronous });
    const heads: number[] = [];
    let ids = 0;
    const append = async (size: number) => {
      const places = Array.from({ length: size }, (_, cell) => {
        const lines = [lineOf(++ids)];
        return log.append(`u_${cell % 10}/c_${cell}`, heads[cell] ?? 0, { id: `id.${ids}`, events: [], lines });
      });
      for (const [cell, { pos }] of (await Promise.all(places)).entries()) heads[cell] = pos;
    };
    try {
      return await groupWork(append, signal);
    } finally {
      await log.close();
    }
  });
}

export const durable: Measure = {
  title: "Acknowledged appends a second, one commit a group",
  columns: [
    { key: "p50_us", title: "one alone, p50", unit: "µs" },
    ...GROUPS.map(({ size }) => ({ key: `per_s_${size}`, title: `in groups of ${size}`, unit: "" })),
    { key: "cpu_us", title: "CPU each", unit: "µs" },
  ],
  contenders: [
    {
      name: "node:sqlite FULL, no index: not readable by cell",
      role: "floor",
      measure: (signal) => raw(false, signal),
    },
    {
      name: "node:sqlite FULL, with the index of (cell, pos)",
      role: "floor",
      goals: Object.fromEntries(GROUPS.map(({ size }) => [`per_s_${size}`, "≥ 0.7×"])),
      measure: (signal) => raw(true, signal),
    },
    { name: "ByteBot, openSqliteLog, FULL", role: "ours", measure: (signal) => ours("full", signal) },
    { name: "the same, NORMAL", role: "also", measure: (signal) => ours("normal", signal) },
  ],
};
