import type { Event } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";

/** One invariant, asserted while a run goes on and at its end. What it throws fails the seed. */
export interface Check {
  /** The Hub sends this to a connection. */
  sent?(line: Line, event: Event): void;
  /** A satellite sends this. */
  received?(line: Line, event: Event): void;
  committed?(entry: Kept): void;
  closed?(line: Line): void;
  /** The Hub is about to be killed. */
  dying?(): void;
  /** It was, and its links are cut. */
  died?(): void;
  /** Everything has come to rest. */
  end?(): void;
}
