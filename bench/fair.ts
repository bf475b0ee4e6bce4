/** One tenant sends all that it may; another takes a turn now and then: how much later it has its answer than alone. */
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import * as bb from "bytebot/sdk";
import { childPath } from "./lines.ts";
import { withHub } from "./logs.ts";
import type { Measure } from "./measure.ts";
import { type Figure, percentiles } from "./work.ts";

const TURNS = 300;
const WARM_UP = 50;
const PAUSE_MS = 5;

/** Turns of a tenant of its own, one after the other, from the input to the end of the answer. */
async function turns(flooded: boolean, signal: AbortSignal): Promise<Figure> {
  return await withHub("full", { report: () => {} }, async (hub) => {
    let ended = (): void => {};
    const ui = async () => {
      const satellite = await bb.sync({ kind: "ui", scopes: ["quiet"], types: ["infer_chunk"] });
      satellite.onInferChunk(({ kind }) => {
        if (kind === "loop_done") ended();
      });
      await satellite.start();
    };
    hub.attachInfer({ ref: childPath("fair-infer") }, { primary: true });
    hub.attach({ main: ui, kind: "ui", name: "quiet" });
    if (flooded) hub.attach({ ref: childPath("flood"), name: "flood", opts: { tenant: "loud" } });
    await hub.start();
    const times: number[] = [];
    for (let number = 0; number < WARM_UP + TURNS; number++) {
      signal.throwIfAborted();
      const end = new Promise<void>((resolve) => (ended = resolve));
      const started = performance.now();
      await hub.send(`quiet/c_${number}`, "go");
      await end;
      if (number >= WARM_UP) times.push((performance.now() - started) * 1e3);
      await sleep(PAUSE_MS);
    }
    return percentiles(times);
  });
}

export const fair: Measure = {
  title: "A turn of one tenant while another sends 490 events a second, stdio, log on disk",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs" },
    { key: "p99_us", title: "p99", unit: "µs" },
  ],
  contenders: [
    { name: "alone", role: "floor", goals: { p99_us: "≤ 2×" }, measure: (signal) => turns(false, signal) },
    { name: "beside the flood", role: "ours", measure: (signal) => turns(true, signal) },
  ],
};
