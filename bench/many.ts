import type { Measure } from "./measure.ts";
export const many: Measure = { title: "", columns: [], contenders: [] };
