/** A UI that comes back with a cursor from the beginning: how fast it is shown a long log. */
import { DatabaseSync } from "node:sqlite";
import { ByteBot, openSqliteLog } from "bytebot";
import * as bb from "bytebot/sdk";
import { inFolder } from "./files.ts";
import type { Measure } from "./measure.ts";
import { chunkEvent, type Figure, micros } from "./work.ts";

const EVENTS = 100_000;
/** Events of an entry: what a Hub joins in a turn of its event loop. */
const JOINED = 4;
const AT_ONCE = 100;

const blockOf = (n: number, scope: string) => {
  const { delta, ...chunk } = chunkEvent(n);
  return { ...chunk, kind: "block_stop", index: n % 1_000, block: { type: "text", text: delta }, scope };
};

async function withLog(work: (file: string) => Promise<number>, signal: AbortSignal): Promise<Figure> {
  return await inFolder(async (folder) => {
    const file = `${folder}/log.db`;
    const { log } = await openSqliteLog({ file, synchronous: "normal" });
    for (let pos = 0; pos < EVENTS / JOINED / AT_ONCE; pos++) {
      signal.throwIfAborted();
      const cells = Array.from({ length: AT_ONCE }, (_, n) => `u_1/c_${n}`);
      const entry = (scope: string) => {
        const events = Array.from({ length: JOINED }, (_, n) => blockOf(pos * JOINED + n, scope));
        return { id: `${scope}.${pos}`, events };
      };
      await Promise.all(cells.map((scope) => log.append(scope, pos, entry(scope))));
    }
    await log.close();
    const cpu = process.cpuUsage();
    const started = performance.now();
    const events = await work(file);
    const seconds = (performance.now() - started) / 1e3;
    if (events !== EVENTS) throw new Error(`${events} events of ${EVENTS}`);
    return { events_per_s: EVENTS / seconds, cpu_us: micros(cpu) / EVENTS };
  });
}

/** Every row in order, parsed. */
async function rows(file: string): Promise<number> {
  const db = new DatabaseSync(file, { readOnly: true });
  let seen = 0;
  for (const { events } of db.prepare("SELECT events FROM entries ORDER BY number").iterate())
    seen += (JSON.parse(String(events)) as object[]).length;
  db.close();
  return seen;
}

async function reads(file: string): Promise<number> {
  const { log } = await openSqliteLog({ file });
  let seen = 0;
  for await (const { events } of log.readAll(0, ["u_1"])) seen += events.length;
  await log.close();
  return seen;
}

/** A UI in this process: each event is checked for who may see it, written as it is on a wire, and handed to a handler. */
async function throughHub(file: string): Promise<number> {
  await using hub = await ByteBot.open({ file, recovery: "wait" });
  const { promise, resolve } = Promise.withResolvers<number>();
  let seen = 0;
  const ui = async () => {
    const satellite = await bb.sync({ kind: "ui", scopes: ["u_1"], resume: "start" });
    satellite.on("*", ({ event_type }) => {
      if (event_type === "infer_chunk") seen++;
      if (event_type === "bb_live") resolve(seen);
    });
    await satellite.start();
  };
  hub.attach({ main: ui, kind: "ui" });
  await hub.start();
  return await promise;
}

export const replay: Measure = {
  title: "A returning UI is shown 100,000 events",
  columns: [
    { key: "events_per_s", title: "events/s", unit: "" },
    { key: "cpu_us", title: "CPU an event", unit: "µs" },
  ],
  contenders: [
    { name: "node:sqlite, rows in order, JSON.parse", role: "floor", measure: (signal) => withLog(rows, signal) },
    { name: "the log's own readAll", role: "also", measure: (signal) => withLog(reads, signal) },
    { name: "ByteBot, log → Hub → ui", role: "ours", measure: (signal) => withLog(throughHub, signal) },
  ],
  rounds: 3,
};
