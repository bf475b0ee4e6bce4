import { BytebotError, type ErrorCode, type InferRequestEvent, type Usage } from "bytebot/sdk";
import type { Costs } from "../prices.ts";
import type { Provider } from "../provider.ts";
import { mustKnow } from "./cost.ts";
import { shownOf } from "./rate.ts";
import { Seen } from "./seen.ts";

/** For what no server has counted. */
const CHARACTERS_PER_TOKEN = 4;
const MEDIA_TOKENS = 1_000;
/** Of an answer that begins and has no `max_tokens`. */
const ANSWER_TOKENS = 1_000;
const RETRY_MS = 1_000;

/** What this process may use up, from its start on. */
export interface Budget {
  tokens?: number | undefined;
  cost_usd?: number | undefined;
}

/** `cost` in US dollars. */
interface Amount {
  tokens: number;
  cost: number;
}

/** A refusal of the budget's own: a fallback would be refused as well. */
export class OverBudget extends BytebotError {}

/** Counts what answers take and what those that run may take, and lets nothing begin where that is the whole budget. */
export class Spent {
  readonly budget: Budget;
  private readonly used: Amount = { tokens: 0, cost: 0 };
  private readonly running = new Set<Amount>();

  constructor(budget: Budget) {
    this.budget = budget;
  }

  /** Sets so much aside. Throws OverBudget: `budget_exceeded`, or `overloaded` where what runs may leave something. */
  reserve(amount: Amount): void {
    const { tokens: most = Infinity, cost_usd: dearest = Infinity } = this.budget;
    const { tokens, cost } = this.used;
    if (tokens >= most) throw exceeded(`${tokens} of ${most} tokens`);
    if (cost >= dearest) throw exceeded(`$${cost.toFixed(4)} of $${dearest}`);
    const aside = [...this.running];
    const isFull = (all: number, limit: number, of: (one: Amount) => number) =>
      aside.reduce((sum, one) => sum + of(one), all) >= limit;
    if (isFull(tokens, most, (one) => one.tokens) || isFull(cost, dearest, (one) => one.cost)) {
      const what = `what is left of opts.budget of this infer is set aside for ${aside.length} running requests`;
      const message = `${what}: try again when they have ended, or raise it`;
      throw new OverBudget("overloaded", message, { retryable: true, retryAfterMs: RETRY_MS });
    }
    this.running.add(amount);
  }

  /** What a request took in the end, in place of what was set aside for it. */
  settle(reserved: Amount, { tokens, cost }: Amount): void {
    this.running.delete(reserved);
    this.used.tokens += tokens;
    this.used.cost += cost;
  }
}

function exceeded(what: string): OverBudget {
  return new OverBudget("budget_exceeded", `opts.budget of this infer is used up: ${what}; raise it, or start anew`);
}

export interface Budgeted {
  /** The name of the model, where a request names none. */
  model: string;
  costs: Costs;
  /** Defaults for every request. */
  params?: Record<string, unknown> | undefined;
}

/**
 * The provider within a budget. What no server has counted is estimated, by characters: an answer without usage, one that
 * broke off or was stopped. What was refused before its first piece has taken nothing.
 */
export function budgeted(provider: Provider, { model, costs, params }: Budgeted, spent: Spent): Provider {
  return {
    ...shownOf(provider),
    async infer(request, reply, context) {
      const name = request.model ?? model;
      mustKnow(costs, name, spent.budget);
      const prompt = tokensOf(request);
      const set = { ...params, ...request.params }["max_tokens"];
      const answer = typeof set === "number" && set > 0 ? set : ANSWER_TOKENS;
      const amount = (input_tokens: number, output_tokens: number): Amount => ({
        tokens: input_tokens + output_tokens,
        cost: costs(name, { input_tokens, output_tokens }) ?? 0,
      });
      const reserved = amount(prompt, answer);
      spent.reserve(reserved);
      const seen = new Seen(reply);
      let taken: Amount = { tokens: 0, cost: 0 };
      try {
        const end = await provider.infer(request, seen, context);
        taken = counted(end.usage, { prompt, seen, cost: (usage) => costs(name, usage) ?? reserved.cost });
        return end;
      } catch (error) {
        if (seen.begun || wasRead(error)) taken = amount(prompt, written(seen));
        throw error;
      } finally {
        spent.settle(reserved, taken);
      }
    },
  };
}

/** What the usage says, and for the rest what was sent and what came. */
function counted(
  usage: Usage = {},
  { prompt, seen, cost }: { prompt: number; seen: Seen; cost: (usage: Usage) => number },
): Amount {
  const { cache_read_tokens: read = 0, cache_write_tokens: write = 0, cost_usd } = usage;
  const { input_tokens = Math.max(0, prompt - read - write), output_tokens = written(seen) } = usage;
  return {
    tokens: input_tokens + output_tokens + read + write,
    cost: typeof cost_usd === "number" ? cost_usd : cost({ ...usage, input_tokens, output_tokens }),
  };
}

/** The silent and the stopped had the prompt, and may have worked on it; an answer that is an error is paid by nobody. */
function wasRead(error: unknown): boolean {
  const codes: readonly ErrorCode[] = ["timeout", "cancelled"];
  return error instanceof BytebotError && codes.includes(error.code);
}

function written({ characters }: Seen): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** About so many tokens are sent. */
function tokensOf({ system, messages, tools }: InferRequestEvent): number {
  let media = 0;
  const text = JSON.stringify([system, messages, tools], (_, value: unknown) => {
    const isMedia = typeof value === "object" && value !== null && "mime_type" in value && "type" in value;
    if (!isMedia) return value;
    media += 1;
    return null;
  });
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN) + media * MEDIA_TOKENS;
}
