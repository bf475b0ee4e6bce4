import type { Kind } from "../wire/index.ts";
import type { Way } from "./channel.ts";
import type { Line } from "./trace.ts";
import type { Stage } from "./stage.ts";

/** One thing that can be seen of a component from outside, and the rule of the spec that asks for it. */
export interface Check {
  /** As in spec/WIRE.md: `FRM-3`. */
  rule: string;
  /** What a right component does, in one sentence. */
  title: string;
  kinds: readonly Kind[];
  /** A SHOULD that is not met is a warning. */
  level?: "SHOULD";
  /** It needs the bytes beneath the events: seen over stdio and HTTP. */
  bytes?: true;
  /** It is about one way of being reached; of what is reached otherwise it is left out. */
  over?: Way;
  /** A gate runs before all others; where one is not passed, the checks that need it are not applicable. */
  gate?: Gate;
  needs?: Gate;
  /** What mostly is the cause, and what to do. */
  fix?: string;
  /** Rejects with Unmet where the component does otherwise, with Inapplicable where that cannot be seen. */
  run(stage: Stage): Promise<unknown>;
}

/** It shakes hands; it answers a ping; it answers the request of its kind. */
export type Gate = "handshake" | "pong" | "answer";

export const states = ["passed", "failed", "warned", "not_applicable"] as const;

export interface Outcome {
  rule: string;
  title: string;
  level: "MUST" | "SHOULD";
  state: (typeof states)[number];
  /** Of `not_applicable`: why. */
  why?: string;
  expected?: string;
  got?: string;
  fix?: string;
  /** The last lines of the connection that shows it, oldest first. */
  lines?: readonly Line[];
}

/** The component did something else than it has to. */
export class Unmet extends Error {
  override readonly name = "Unmet";
  readonly expected: string;
  readonly got: string;
  /** Where it is not the connection's last lines that show it. */
  readonly lines: readonly Line[] | undefined;

  constructor(expected: string, got: string, lines?: readonly Line[]) {
    super(`expected ${expected}, got ${got}`);
    this.expected = expected;
    this.got = got;
    this.lines = lines;
  }
}

/** Whether the rule is kept cannot be seen of this component, or here. */
export class Inapplicable extends Error {
  override readonly name = "Inapplicable";
}
