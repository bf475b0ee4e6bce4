import { BytebotError, type Block, type ErrorCode, type InferReply } from "bytebot/sdk";
import type { Provider } from "../provider.ts";
import { until } from "../until.ts";
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

/** Who answers where the one before fails, opened when it is first asked. */
export interface Fallback {
  /** For people, before it is opened. */
  readonly name: string;
  /** Rejects with BytebotError; the next request tries again. */
  get(): Promise<Provider>;
  close(): Promise<void>;
}

/**
 * The first provider, and those behind it where it fails before its first chunk; after one the Hub repeats the round. A
 * request that names a model wants that one and no other. A fallback that cannot be opened is passed over, and what is told
 * is the failure of who was asked before it.
 */
export function withFallbacks(
  first: Provider,
  others: readonly Fallback[],
  report: (line: string) => void = (line) => console.error(line),
): Provider {
  if (others.length === 0) return first;
  return {
    ...shownOf(first),
    async infer(request, reply, context) {
      const rest = request.model === undefined ? [...others] : [];
      for (let provider = first; ;) {
        const seen = new Seen(reply);
        try {
          return await provider.infer(request, seen, context);
        } catch (error) {
          const mayGoOn = error instanceof BytebotError && mendable.includes(error.code) && !seen.begun;
          if (!mayGoOn || context.signal.aborted) throw error;
          if (rest.length > 0) report(`bb-infer: ${provider.label} failed (${error.code}): ${rest[0]?.name} is asked`);
          const next = await nextOf(rest, context.signal, report);
          if (!next) throw error;
          provider = next;
        }
      }
    },
    async close() {
      await Promise.all([first, ...others].map((provider) => provider.close()));
    },
  };
}

/** The first that can be opened; it and those before it are taken from the list. */
async function nextOf(
  rest: Fallback[],
  signal: AbortSignal,
  report: (line: string) => void,
): Promise<Provider | undefined> {
  for (let one = rest.shift(); one; one = rest.shift()) {
    try {
      return await until(one.get(), signal);
    } catch (error) {
      if (signal.aborted) throw new BytebotError("cancelled", "the request was stopped", { cause: error });
      report(`bb-infer: the fallback ${one.name} cannot be opened: ${(error as Error).message}`);
    }
  }
  return undefined;
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
