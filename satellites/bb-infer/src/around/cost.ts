import { BytebotError, type Usage } from "bytebot/sdk";
import type { Costs } from "../prices.ts";
import type { Provider } from "../provider.ts";
import { shownOf } from "./rate.ts";

/** The provider, whose usage tells what it cost, where that is known: `cost_usd`. */
export function priced(provider: Provider, model: string, costs: Costs): Provider {
  return {
    ...shownOf(provider),
    async infer(request, reply, context) {
      const end = await provider.infer(request, reply, context);
      const cost = end.usage && costs(request.model ?? model, end.usage);
      return cost === undefined ? end : { ...end, usage: { ...end.usage, cost_usd: cost } };
    },
  };
}

/** What this process may use up, from its start on. */
export interface Budget {
  tokens?: number | undefined;
  cost_usd?: number | undefined;
}

/** Counts what answers take, and asks nothing more once it is used up. */
export class Spent {
  private readonly budget: Budget;
  private tokens = 0;
  private cost = 0;

  constructor(budget: Budget) {
    this.budget = budget;
  }

  /** Throws `budget_exceeded`. */
  check(): void {
    const { tokens = Infinity, cost_usd = Infinity } = this.budget;
    if (this.tokens >= tokens) throw exceeded(`${this.tokens} of ${tokens} tokens`);
    if (this.cost >= cost_usd) throw exceeded(`$${this.cost.toFixed(4)} of $${cost_usd}`);
  }

  /** Throws `budget_exceeded` where money is counted and nobody knows what this model costs. */
  count(model: string, usage: Usage = {}): void {
    const { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0, cost_usd } = usage;
    this.tokens += input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
    if (typeof cost_usd === "number") this.cost += cost_usd;
    else if (this.budget.cost_usd !== undefined) {
      // From here on nothing can be promised: the next request is refused.
      this.cost = Infinity;
      console.error(
        `bb-infer: the cost of ${model} is not known, so that opts.budget.cost_usd is used up: set opts.prices`,
      );
    }
  }
}

function exceeded(what: string): BytebotError {
  return new BytebotError("budget_exceeded", `opts.budget of this infer is used up: ${what}; raise it, or start anew`);
}

/** The provider within a budget. */
export function budgeted(provider: Provider, spent: Spent): Provider {
  return {
    ...shownOf(provider),
    async infer(request, reply, context) {
      spent.check();
      const end = await provider.infer(request, reply, context);
      spent.count(request.model ?? provider.label, end.usage);
      return end;
    },
  };
}
