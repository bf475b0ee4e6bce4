/** Does the cost grow linearly with the events? A turn of 25 times the chunks may cost no more for each. */
import type { Measure } from "./measure.ts";
import { lengthThroughHub } from "./ours.ts";

export const length: Measure = {
  title: "Cost of a chunk by the length of its turn",
  columns: [{ key: "cpu_us", title: "Hub CPU a chunk", unit: "µs" }],
  contenders: [
    {
      name: "100 turns of 1,000 chunks",
      role: "floor",
      goals: { cpu_us: "≤ 1.1×" },
      measure: (signal) => lengthThroughHub(1_000, signal),
    },
    { name: "4 turns of 25,000 chunks", role: "ours", measure: (signal) => lengthThroughHub(25_000, signal) },
  ],
  rounds: 3,
};
