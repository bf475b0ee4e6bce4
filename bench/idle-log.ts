/** What conversations cost that only lie in the file of the log, and those that were used and do nothing any more. */
import { openSqliteLog } from "bytebot";
import { inFolder } from "./files.ts";
import { readLines, startChild } from "./lines.ts";
import type { Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

const AT_ONCE = 1_000;

/** As many conversations as a Hub leaves after a turn each. */
async function fill(file: string, count: number, signal: AbortSignal): Promise<void> {
  const { log } = await openSqliteLog({ file, synchronous: "normal" });
  const text = "a question or an answer of a line, as people write them and models answer";
  for (let from = 0; from < count; from += AT_ONCE) {
    signal.throwIfAborted();
    const cells = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => `u_${from + n}/c_${from + n}`);
    const event = (scope: string, event_type: string, more: object) => ({ event_type, scope, ts: Date.now(), ...more });
    await Promise.all(
      cells.map(async (scope) => {
        const input = { type: "message", text, id: `e_${scope}`, from: "ui" };
        const { pos } = await log.append(scope, 0, {
          id: `${scope}.1`,
          events: [event(scope, "user_event", input)],
          open: true,
        });
        const end = { loop_id: "l_1", kind: "loop_done", stop_reason: "end_turn", text };
        await log.append(scope, pos, { id: `${scope}.2`, events: [event(scope, "infer_chunk", end)] });
      }),
    );
  }
  await log.close();
}

/** What children/idle-log.ts tells. */
export type Told = { start_ms: number; cpu_ms: number; rss_mib: number; used_bytes: number };

const beside = (count: number) => (signal: AbortSignal) =>
  inFolder(async (folder): Promise<Figure> => {
    const file = `${folder}/log.db`;
    await fill(file, count, signal);
    await using child = startChild("idle-log.ts", signal, "--expose-gc", file);
    const told = new Promise<Told>((resolve) => readLines<Told>(child.stdout, resolve));
    return { ...(await Promise.race([told, child.gone])) };
  });

const goals = { cpu_ms: "≤ 1.1×", rss_mib: "≤ 1.1×" };

export const idleLog: Measure = {
  title: "Conversations that lie in the log",
  columns: [
    { key: "start_ms", title: "open and start", unit: "ms" },
    { key: "cpu_ms", title: "CPU of that", unit: "ms" },
    { key: "rss_mib", title: "RSS", unit: "MiB" },
    { key: "used_bytes", title: "heap a conversation, 20,000 used once", unit: "bytes", compare: "difference" },
  ],
  contenders: [
    { name: "1 in the file", role: "floor", goals, measure: beside(1) },
    { name: "1,000 in the file", role: "floor", goals, measure: beside(1_000) },
    { name: "100,000 in the file", role: "ours", measure: beside(100_000) },
  ],
  rounds: 2,
};
