/** A recorded conversation again: the same log, or the first difference. */
export type { Difference } from "./difference.ts";
export { readRecording, type Recording } from "./recording.ts";
export { replay, type Found, type Replayed } from "./replay.ts";
export { plain, shown, told } from "./report.ts";
