/** What run.ts runs and table.ts prints. */
import type { Figure } from "./work.ts";

export interface Column {
  key: string; // of the figure
  title: string;
  unit: string;
  /** How ours stands to another: divided by it (default), or less it. */
  compare?: "difference";
}

export interface Contender {
  name: string;
  /** One contender of a measure is ours, which the others are compared to; `also`: ours in another form. */
  role: "floor" | "peer" | "ours" | "also";
  /** What the comparison should give, by column key; ours: what the figure itself should be. Printed, never enforced. */
  goals?: Record<string, string>;
  /** One run, on fresh processes that have ended when it settles. `signal` is its deadline. */
  measure(signal: AbortSignal): Promise<Figure>;
}

export interface Measure {
  title: string;
  columns: Column[];
  contenders: Contender[];
  /** At most so many rounds: where a run takes long. */
  rounds?: number;
}
