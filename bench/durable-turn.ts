/** What a log on disk adds to a tool call and to a turn's first chunk: two commits at most, each before its effect. */
import { besideCommits, type Kept } from "./logs.ts";
import type { Measure } from "./measure.ts";
import { firstThroughHub, toolThroughHub } from "./ours.ts";
import { mcpV1 } from "./tool.ts";
import { HTTP_CALLS, type Figure } from "./work.ts";

type Work = (kept: Kept) => (signal: AbortSignal) => Promise<Figure>;

/** Fewer calls than beside the memory log, as each waits for a disk. */
const tool: Work = (kept) => (signal) => toolThroughHub(signal, kept, { http: true });
const first: Work = (kept) => (signal) => firstThroughHub(signal, kept);

const columns = [
  { key: "p50_us", title: "p50", unit: "µs" },
  { key: "p99_us", title: "p99", unit: "µs" },
];

/** On disk and in memory, one after the other, and what a commit takes meanwhile. */
function inCommits(work: Work) {
  return async (signal: AbortSignal): Promise<Figure> => {
    const { p50_us: memory = NaN } = await work("memory")(signal);
    const { done, raw_us } = await besideCommits(() => work("full")(signal), signal);
    return { ...done, raw_us, commits: ((done["p50_us"] ?? NaN) - memory) / raw_us };
  };
}

function full(title: string, work: Work): Measure {
  return {
    title,
    columns: [
      ...columns,
      { key: "raw_us", title: "a raw FULL commit meanwhile, p50", unit: "µs" },
      { key: "commits", title: "above the memory log, in such commits", unit: "" },
    ],
    contenders: [
      { name: "log in memory", role: "floor", measure: work("memory") },
      { name: "log on disk, NORMAL", role: "also", measure: work("normal") },
      { name: "ByteBot, log on disk, FULL", role: "ours", goals: { commits: "≤ 2" }, measure: inCommits(work) },
    ],
    rounds: 3,
  };
}

export const durableTool = full("Tool round trip over stdio, log on disk, FULL", tool);
export const durableFirst = full("Time to first chunk over stdio, log on disk, FULL", first);

export const durableToolNormal: Measure = {
  title: "Tool round trip over stdio, log on disk, NORMAL",
  columns,
  contenders: [
    {
      name: "MCP SDK v1, one hop, keeps nothing",
      role: "peer",
      goals: { p50_us: "≤ 1.4×" },
      measure: (signal) => mcpV1(signal, HTTP_CALLS),
    },
    { name: "log in memory", role: "floor", measure: tool("memory") },
    { name: "ByteBot, log on disk, NORMAL", role: "ours", measure: tool("normal") },
  ],
};
