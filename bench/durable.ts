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
/** The contenders take turns after so many parts of the groups, so that what else the disk has to do hits all of them. */
const TURNS = 10;
/** Groups of 1,000: until the WAL of each has its full size, and is written over from its beginning. */
const WARM_UP = 10;

interface Contender {
  /** Puts one entry into each of so many cells; when it is over all of them are on the disk. */
  append: (size: number) => Promise<void> | void;
  close: () => Promise<void> | void;
}

const lineOf = (n: number) => JSON.stringify(chunkEvent(n));

/** What a log cannot do without, as one table, written by the thread that measures: no thread, no checks, no checksums. */
function openRaw(file: string, hasIndex: boolean): Contender {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec("CREATE TABLE entries (number INTEGER PRIMARY KEY, cell INTEGER, pos INTEGER, id TEXT, events TEXT)");
  if (hasIndex) db.exec("CREATE UNIQUE INDEX place ON entries (cell, pos)");
  const insert = db.prepare("INSERT INTO entries (cell, pos, id, events) VALUES (?, ?, ?, ?)");
  const heads: number[] = [];
  let ids = 0;
  return {
    append: (size) => {
      db.exec("BEGIN IMMEDIATE");
      for (let cell = 0; cell < size; cell++) {
        heads[cell] = (heads[cell] ?? 0) + 1;
        insert.run(cell, heads[cell]!, `id.${++ids}`, `[${lineOf(ids)}]`);
      }
      db.exec("COMMIT");
    },
    close: () => db.close(),
  };
}

async function openOurs(file: string, synchronous: "full" | "normal"): Promise<Contender> {
  const { log } = await openSqliteLog({ file, synchronous });
  const heads: number[] = [];
  let ids = 0;
  return {
    append: async (size) => {
      const places = Array.from({ length: size }, (_, cell) => {
        const lines = [lineOf(++ids)];
        return log.append(`u_${cell % 10}/c_${cell}`, heads[cell] ?? 0, { id: `id.${ids}`, events: [], lines });
      });
      for (const [cell, { pos }] of (await Promise.all(places)).entries()) heads[cell] = pos;
    },
    close: () => log.close(),
  };
}

/** All contenders, in turns. Rates are of all the time they took, with what checkpoints took of it. */
function roundOf(signal: AbortSignal): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const contenders = [
      openRaw(`${folder}/raw.db`, false),
      openRaw(`${folder}/index.db`, true),
      await openOurs(`${folder}/full.db`, "full"),
      await openOurs(`${folder}/normal.db`, "normal"),
    ];
    const taken = contenders.map(() => ({ cpu: 0, figure: {} as Figure, alone: [] as number[] }));
    for (const { append } of contenders) for (let group = 0; group < WARM_UP; group++) await append(1_000);
    for (const { size, groups } of GROUPS) {
      const seconds = contenders.map(() => 0);
      for (let turn = 0; turn < TURNS; turn++) {
        for (const [index, { append }] of contenders.entries()) {
          signal.throwIfAborted();
          const cpu = process.cpuUsage();
          for (let group = 0; group < groups / TURNS; group++) {
            const started = performance.now();
            await append(size);
            const took = performance.now() - started;
            seconds[index]! += took / 1e3;
            if (size === 1) taken[index]!.alone.push(took * 1e3);
          }
          taken[index]!.cpu += micros(cpu);
        }
      }
      for (const [index, { figure }] of taken.entries()) figure[`per_s_${size}`] = (size * groups) / seconds[index]!;
    }
    for (const { close } of contenders) await close();
    const all = GROUPS.reduce((sum, { size, groups }) => sum + size * groups, 0);
    return taken.map(({ cpu, figure, alone }) => ({ ...figure, cpu_us: cpu / all, p50_us: percentiles(alone).p50_us }));
  });
}

let round: Promise<Figure[]> | undefined;
let told = 0;
const CONTENDERS = 4;

/** The first that is asked in a round runs all of them. */
const ofRound = (index: number) => async (signal: AbortSignal) => {
  const figures = (round ??= roundOf(signal));
  if (++told % CONTENDERS === 0) round = undefined;
  return (await figures)[index]!;
};

export const durable: Measure = {
  title: "Acknowledged appends a second, one commit a group",
  columns: [
    { key: "p50_us", title: "one alone, p50", unit: "µs" },
    ...GROUPS.map(({ size }) => ({ key: `per_s_${size}`, title: `in groups of ${size}`, unit: "" })),
    { key: "cpu_us", title: "CPU each", unit: "µs" },
  ],
  contenders: [
    { name: "node:sqlite FULL, no index: not readable by cell", role: "floor", measure: ofRound(0) },
    {
      name: "node:sqlite FULL, with the index of (cell, pos)",
      role: "floor",
      goals: Object.fromEntries(GROUPS.map(({ size }) => [`per_s_${size}`, "≥ 0.7×"])),
      measure: ofRound(1),
    },
    { name: "ByteBot, openSqliteLog, FULL", role: "ours", measure: ofRound(2) },
    { name: "the same, NORMAL", role: "also", measure: ofRound(3) },
  ],
};
