/** What a log on disk adds to a tool call and to a turn's first chunk: two commits at most, each before its effect. */
import { rawCommit, type Kept } from "./logs.ts";
import type { Measure } from "./measure.ts";
import { firstThroughHub, toolThroughHub } from "./ours.ts";
import { mcpV1 } from "./tool.ts";
import { HTTP_CALLS, type Figure } from "./work.ts";

/** Fewer, as each waits for a disk. */
const tool = (kept: Kept) => (signal: AbortSignal) => toolThroughHub(signal, kept, { http: true });
const first = (kept: Kept) => (signal: AbortSignal) => firstThroughHub(signal, kept);

/** The memory log's figure and two raw commits: what there may be at most. */
function andTwoCommits(measure: (signal: AbortSignal) => Promise<Figure>) {
  return async (signal: AbortSignal): Promise<Figure> => {
    const { p50_us = NaN } = await measure(signal);
    return { p50_us: p50_us + 2 * (await rawCommit()) };
  };
}

const columns = [
  { key: "p50_us", title: "p50", unit: "µs" },
  { key: "p99_us", title: "p99", unit: "µs" },
];

export const durableTool: Measure = {
  title: "Tool round trip over stdio, log on disk, FULL",
  columns,
  contenders: [
    {
      name: "log in memory, and two raw FULL commits",
      role: "floor",
      goals: { p50_us: "≤ 1×" },
      measure: andTwoCommits(tool("memory")),
    },
    { name: "log in memory", role: "also", measure: tool("memory") },
    { name: "ByteBot, log on disk, FULL", role: "ours", measure: tool("full") },
  ],
};

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

export const durableFirst: Measure = {
  title: "Time to first chunk over stdio, log on disk, FULL",
  columns,
  contenders: [
    {
      name: "log in memory, and two raw FULL commits",
      role: "floor",
      goals: { p50_us: "≤ 1×" },
      measure: andTwoCommits(first("memory")),
    },
    { name: "log in memory", role: "also", measure: first("memory") },
    { name: "log on disk, NORMAL", role: "also", measure: first("normal") },
    { name: "ByteBot, log on disk, FULL", role: "ours", measure: first("full") },
  ],
};
