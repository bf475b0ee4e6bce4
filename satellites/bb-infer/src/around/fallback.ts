import { BytebotError, type Block, type ErrorCode, type InferReply } from "bytebot/sdk";
import type { Provider } from "../provider.ts";
import { shownOf } from "./rate.ts";

/** What another model may do better: everything but what is wrong with the request itself. */
const mendable: readonly ErrorCode[] = [
  "unavailable",
  "overloaded",
  "timeout",
  "not_found",
  "unauthorized",
  "budget_exceeded",
  "too_large",
];

/**
 * The first provider, and those behind it where it fails before its first chunk; after one the Hub repeats the round. A
 * request that names a model wants that one and no other.
 */
export function withFallbacks(
  first: Provider,
  others: readonly Provider[],
  report: (line: string) => void = (line) => console.error(line),
): Provider {
  if (others.length === 0) return first;
  return {
    ...shownOf(first),
    async infer(request, reply, context) {
      const all = request.model === undefined ? [first, ...others] : [first];
      for (const [at, provider] of all.entries()) {
        const seen = new Seen(reply);
        try {
          return await provider.infer(request, seen, context);
        } catch (error) {
          const next = all[at + 1];
          const mayGoOn = error instanceof BytebotError && mendable.includes(error.code) && !seen.begun;
          if (!next || !mayGoOn || context.signal.aborted) throw error;
          report(`bb-infer: ${provider.label} failed (${error.code}): ${next.label} answers instead`);
        }
      }
      throw new BytebotError("internal", "no provider answered"); // the last one returned or threw
    },
    async close() {
      await Promise.all([first, ...others].map((provider) => provider.close()));
    },
  };
}

/** A reply, and whether anything of it has left. */
class Seen implements InferReply {
  begun = false;
  private readonly reply: InferReply;

  constructor(reply: InferReply) {
    this.reply = reply;
  }

  text(delta: string): void {
    this.begun = true;
    this.reply.text(delta);
  }

  thinking(delta: string): void {
    this.begun = true;
    this.reply.thinking(delta);
  }

  signature(value: string): void {
    this.begun = true;
    this.reply.signature(value);
  }

  toolUse(call: Parameters<InferReply["toolUse"]>[0]): ReturnType<InferReply["toolUse"]> {
    this.begun = true;
    return this.reply.toolUse(call);
  }

  block(block: Block): void {
    this.begun = true;
    this.reply.block(block);
  }
}
