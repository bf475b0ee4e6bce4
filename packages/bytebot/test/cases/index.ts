import type { Script } from "../transcripts/script.ts";
import { bursts, leaves, steers } from "./inputs.ts";
import { graces, interrupts, loops } from "./interrupts.ts";
import { expires, late, pending, race } from "./questions.ts";
import { restarts } from "./restarts.ts";
import { canaries, oneOfMany, spellings } from "./wall.ts";

/** Hard cases that are the same whatever carries the events; each says what has to hold where it happens. */
export const single: readonly Script[] = [
  interrupts,
  graces,
  steers,
  bursts,
  oneOfMany,
  leaves,
  pending,
  expires,
  race,
  late,
  spellings,
  canaries,
  loops,
];

export const cases: readonly Script[] = [...single, ...restarts.flat()];
