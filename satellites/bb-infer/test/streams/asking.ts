import assert from "node:assert/strict";
import { BytebotError, type InferEnd, type InferRequestEvent } from "bytebot/sdk";
import type { Provider } from "../../src/provider.ts";
import { openRemote, type RemoteOptions } from "../../src/remote/provider.ts";
import { Collected, request, said } from "../collected.ts";
import type { Format } from "../formats/index.ts";

export const add = { name: "add", description: "Adds.", input_schema: { type: "object" } };
export const now = { name: "now", description: "The time.", input_schema: { type: "object" } };

/** Two tools were offered, and the person said hello. */
export const hello = request({ messages: [said("Hello")], tools: [add, now] });

export interface Outcome {
  reply: Collected;
  end?: InferEnd;
  error?: BytebotError;
}

export interface Asking {
  signal?: AbortSignal | undefined;
  request?: InferRequestEvent | undefined;
  reply?: Collected | undefined;
}

export type Asked = Asking & Partial<RemoteOptions>;

/** Retries without a wait to speak of, so that no test sleeps. */
export const soon = { tries: 3, first_ms: 1, longest_ms: 4000 };
export const never = { ...soon, tries: 1 };

/** One request to a server of this format, whatever becomes of it. */
export async function ask(format: Format, server: { origin: string }, asked: Asked = {}): Promise<Outcome> {
  const { signal, request: event, reply, ...options } = asked;
  const provider = await openRemote({ ...format.options(server), retry: soon, ...options });
  return outcome(provider, { signal, request: event, reply });
}

/** One request to what is open, whatever becomes of it. */
export async function outcome(
  provider: Provider,
  { signal = AbortSignal.timeout(20_000), request: event = hello, reply = new Collected() }: Asking = {},
): Promise<Outcome> {
  try {
    const end = await provider.infer(event, reply, { signal, drained: () => Promise.resolve() });
    return { reply, end };
  } catch (error) {
    assert.ok(error instanceof BytebotError, `no BytebotError: ${String(error)}`);
    return { reply, error };
  }
}

/** The names and arguments of its calls. */
export function called(reply: Collected): unknown[] {
  return reply.blocks.flatMap(({ type, name, input }) => (type === "tool_use" ? [[name, input]] : []));
}
