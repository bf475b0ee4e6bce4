import type { RemoteOptions } from "../../src/remote/provider.ts";

/** What a provider counted so far. `input` is without what came from a cache or went into it; absent: it does not say. */
export interface Counts {
  input?: number;
  output?: number;
  read?: number;
  write?: number;
}

export type Stop = "end_turn" | "tool_use" | "max_tokens" | "refusal";

/** Why a provider refuses a request, or gives up in the middle of a reply. */
export type Failure = "unauthorized" | "unknown_model" | "rate" | "credit" | "too_long" | "invalid" | "busy" | "broken";

/** One thing a model or its provider says, whatever format it is said in. */
export type Step =
  | { say: string }
  /** A delta of thinking; the signature ends it. */
  | { think: string; signature?: string }
  /** A whole call, its arguments in pieces. */
  | { call: string; id: string; args: readonly string[] }
  | { count: Counts }
  | { stop: Stop }
  | { fail: Failure; message: string };

export const say = (text: string): Step => ({ say: text });
export const think = (text: string, signature?: string): Step =>
  signature === undefined ? { think: text } : { think: text, signature };
export const call = (name: string, id: string, ...args: string[]): Step => ({ call: name, id, args });
export const count = (counts: Counts): Step => ({ count: counts });
export const stop = (reason: Stop): Step => ({ stop: reason });
export const fail = (failure: Failure, message = "no such luck"): Step => ({ fail: failure, message });

export interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What a request said, read back out of its body. */
export type Part =
  | { text: string }
  | { thinking: string }
  | { call: string; id: string; input: unknown }
  | { result: string; id: string };
export interface Turn {
  role: "user" | "model";
  parts: Part[];
}

/** How one provider writes its streams and its refusals, by hand from its documentation. */
export interface Format {
  readonly name: string;
  readonly contentType: string;
  /** What opens the provider of this format at a server. */
  options(server: { origin: string }): RemoteOptions;
  /** The header that carries the key. */
  readonly keyHeader: string;
  /** A reply as far as the steps go, an event each; what begins a reply comes with the first one. */
  events(...steps: Step[]): Buffer[];
  /** What ends the stream of a whole reply; none where the end of the connection does. */
  readonly end: Buffer;
  /** `retryIn` where the format says it in the body. */
  refusal(failure: Failure, message: string, retryIn?: number): Refusal;
  toTurns(body: Record<string, unknown>): Turn[];
}

export function whole(format: Format, ...steps: Step[]): Buffer[] {
  return [...format.events(...steps), format.end].filter(({ length }) => length > 0);
}

/** A whole answer of these texts. */
export function answer(format: Format, ...texts: string[]): Buffer[] {
  return whole(format, ...texts.map(say), stop("end_turn"));
}

/** One event of an event stream. */
export function event(data: object, name?: string): Buffer {
  return Buffer.from(`${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
}

export function json(status: number, body: object, headers: Record<string, string> = {}): Refusal {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export const NOTHING = Buffer.alloc(0);
export const KEY_ENV = "BB_INFER_TEST_KEY";
export const KEY = "s3cret-0123456789";
/** An environment of its own: none of the machine's keys is sent anywhere. */
export const WITH_KEY = { keyEnv: KEY_ENV, env: { [KEY_ENV]: KEY } };
