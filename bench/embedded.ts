/** The embedded model: what bb-infer takes of its speed, beside node-llama-cpp called directly with the same prompt. */
import { readLines, startChild } from "./lines.ts";
import type { Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

export type Way = "direct" | "ours";

const through = (way: Way) => async (signal: AbortSignal) => {
  await using child = startChild("embedded-model.ts", signal, way);
  const told = new Promise<Figure>((resolve) => readLines<Figure>(child.stdout, resolve));
  return await Promise.race([told, child.gone]);
};

export const embedded: Measure = {
  title: "The embedded model, Gemma 3 270M",
  columns: [
    { key: "read_per_s", title: "prompt tokens read a second", unit: "" },
    { key: "written_per_s", title: "tokens written a second", unit: "" },
  ],
  contenders: [
    {
      name: "node-llama-cpp called directly",
      role: "peer",
      goals: { read_per_s: "≥ 0.7×", written_per_s: "≥ 0.9×" },
      measure: through("direct"),
    },
    { name: "bb-infer", role: "ours", measure: through("ours") },
  ],
  rounds: 3,
};
