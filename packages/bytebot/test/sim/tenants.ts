import type { InputRule } from "../../src/hub/index.ts";

export const TENANTS = ["ta", "tb", "tc"];

/** How input goes that names no mode (INP-5). */
export const INPUT: readonly InputRule[] = [
  { scope: "ta", mode: "steer" },
  { scope: "ta/c2", mode: "queue" },
  { scope: "tb/c1", mode: "replace" },
];
