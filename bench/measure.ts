/** What run.ts runs and table.ts prints. */
import type { Figure } from "./work.ts";

export interface Column {
  key: string; // of the figure
  title: string;
  unit: string;
}

export interface Contender {
  name: string;
  role: "floor" | "peer" | "ours"; // one contender of a measure is ours
  /** What ours ÷ this one should be, by column key; printed beside the ratio, never enforced. */
  goals?: Record<string, string>;
  /** One run, on fresh processes that have ended when it settles. `signal` is its deadline. */
  measure(signal: AbortSignal): Promise<Figure>;
}

export interface Measure {
  title: string;
  columns: Column[];
  contenders: Contender[];
}
