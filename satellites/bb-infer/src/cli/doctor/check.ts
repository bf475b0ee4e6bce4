import type { Exam } from "./exam.ts";

/** One thing that can be seen of a model from outside. */
export interface Check {
  /** What it is called in the report, in one word: `stream`. */
  name: string;
  /** What a model in order does, in one sentence. */
  title: string;
  /** Where this one fails, all that follow are not applicable. */
  gate?: true;
  /** Resolves with what is worth knowing. Rejects with Unmet, with Inapplicable, or with the BytebotError of a request. */
  run(exam: Exam): Promise<string | undefined>;
}

export const states = ["passed", "failed", "not_applicable"] as const;

export interface Outcome {
  check: string;
  title: string;
  state: (typeof states)[number];
  ms: number;
  /** Of `passed`: what was seen. */
  note?: string;
  /** Of `not_applicable`. */
  why?: string;
  /** Of `failed`. */
  expected?: string;
  got?: string;
  fix?: string;
}

/** The model does otherwise than it should, or than is announced of it. */
export class Unmet extends Error {
  override readonly name = "Unmet";
  readonly expected: string;
  readonly got: string;
  readonly fix: string | undefined;

  constructor(expected: string, got: string, fix?: string) {
    super(`expected ${expected}, got ${got}`);
    this.expected = expected;
    this.got = got;
    this.fix = fix;
  }
}

/** It cannot be seen of this model, or here. */
export class Inapplicable extends Error {
  override readonly name = "Inapplicable";
}
