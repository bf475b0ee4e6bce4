import type { About, Place, Pos } from "../log.ts";
import type { Spent } from "../spent.ts";
import type { BlobBlock } from "../../wire/index.ts";
import type { Refusal } from "./errors.ts";

/** How sure a commit is: "full" survives the loss of power, "normal" a kill of the process. */
export type Synchronous = "full" | "normal";

/** What the writer's thread is started with. */
export interface WriterOptions {
  file: string;
  synchronous: Synchronous;
  /** What the file may take; beyond it there is no room. */
  maxBytes: number | undefined;
}

export interface Append {
  do: "append";
  cell: string;
  expected: Pos;
  id: string;
  /** A JSON array. */
  events: string;
  eventCount: number;
  // What is absent crosses to the other thread for nothing.
  refs?: readonly string[] | undefined;
  base?: boolean;
  open?: boolean;
  wipe?: boolean;
  about?: About;
  spent?: Spent;
  /** Default: now. */
  at?: number | undefined;
}

/** What is asked of the writer. Bytes move to its thread. */
export type Job =
  | Append
  | { do: "begin"; cell: string; pos: Pos }
  | { do: "trim"; cell: string; base: Pos }
  | { do: "put"; cell: string; bytes: Uint8Array }
  | { do: "write"; cell: string; upload: number; bytes: Uint8Array }
  | { do: "keep"; cell: string; upload: number; ref: string; mimeType: string; size: number; counted: number }
  | { do: "discard"; upload: number }
  | { do: "forget"; cell: string }
  | { do: "drop"; cell: string }
  | { do: "shrink" }
  | { do: "close" };

/** What each answers. An append's is its position, its number, and what of blobs it freed; a "keep"'s whether the blob is new; a "forget"'s the bytes that were
 * counted, a "drop"'s whether there may be more. */
export interface Results {
  append: [pos: Place["pos"], number: number, freed?: number];
  trim: undefined;
  put: BlobBlock;
  write: undefined;
  keep: boolean;
  forget: number;
  drop: boolean;
  discard: undefined;
  begin: undefined;
  shrink: undefined;
  close: undefined;
}

export type Answer = Results[Job["do"]] | Refused;

/** No result has an "error". */
export interface Refused {
  error: Refusal;
}

export function isRefused(answer: Answer): answer is Refused {
  return typeof answer === "object" && "error" in answer;
}

/** The first thing that the thread says. */
export interface Opened {
  name: string;
  /** The newest entry's number. */
  end: number;
  generation: number;
  /** As its own connection has it: 2 is FULL, 1 NORMAL. */
  synchronous: number;
  blobBytes: number;
}

export type Said = { opened: Opened } | { failed: Refusal } | { answers: Answer[] };

/** About what it costs, in bytes. */
export function weightOf(job: Job): number {
  if (job.do === "append") return job.events.length + 300;
  return 300 + ("bytes" in job ? job.bytes.length : 0);
}
