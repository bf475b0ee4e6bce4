/** Time to first chunk: what the Hub adds to a call of the model. The model answers at once, so all of it is the way there. */
import { readLines, startChild, writeLines } from "./lines.ts";
import type { Measure } from "./measure.ts";
import { firstThroughHub } from "./ours.ts";
import { type Figure, firstWork } from "./work.ts";

async function direct(signal: AbortSignal): Promise<Figure> {
  await using child = startChild("lines-echo.ts", signal);
  let answered: () => void;
  readLines<object>(child.stdout, () => answered());
  const send = writeLines(child.stdin);
  const work = firstWork(async (id, first) => {
    const answer = new Promise<void>((resolve) => (answered = resolve));
    send({ id, input: { text: "go" } });
    await answer;
    first();
  });
  return await Promise.race([work, child.gone]);
}

export const first: Measure = {
  title: "Time to first chunk over stdio, memory log",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs", compare: "difference" },
    { key: "p99_us", title: "p99", unit: "µs", compare: "difference" },
  ],
  contenders: [
    {
      name: "the model called directly, JSON lines, one hop",
      role: "peer",
      goals: { p50_us: "≤ 500", p99_us: "≤ 2,000" },
      measure: direct,
    },
    { name: "ByteBot, ui → Hub → infer → Hub → ui", role: "ours", measure: (signal) => firstThroughHub(signal) },
  ],
};
