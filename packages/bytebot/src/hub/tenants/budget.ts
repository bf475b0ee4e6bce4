import { BytebotError, type Usage } from "../../wire/index.ts";
import { Glob } from "../tools/glob.ts";

/** What a tenant may use up, from the Hub's start on. `cost` in the unit of the prices. */
export interface Budget {
  tokens?: number;
  cost?: number;
}

/** Of one model, for a million tokens of each sort; what is left out costs nothing. */
export interface Price {
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
}

interface Used {
  tokens: number;
  cost: number;
}

/** Budgets by patterns of tenants, prices by patterns of models; the last that matches counts (rule QTA-6). */
export class Budgets {
  private readonly budgets: [string, Budget][];
  private readonly prices: [string, Price][];
  private readonly used = new Map<string, Used>();

  constructor(budgets: Record<string, Budget>, prices: Record<string, Price>) {
    this.budgets = Object.entries(budgets);
    this.prices = Object.entries(prices);
  }

  /** Throws `budget_exceeded` where the tenant has used up what it may, and where a cost cannot be told. */
  check(tenant: string, model: string | undefined): void {
    const budget = matching(this.budgets, tenant);
    if (!budget) return;
    if (budget.cost !== undefined && !this.priceOf(model)) {
      const what = model === undefined ? "a model that the context does not name" : `the model "${model}"`;
      throw new BytebotError(
        "budget_exceeded",
        `a cost budget is set and no price for ${what}: add one to prices, or "*"`,
      );
    }
    const { tokens, cost } = this.used.get(tenant) ?? { tokens: 0, cost: 0 };
    const { tokens: maxTokens = Infinity, cost: maxCost = Infinity } = budget;
    if (tokens >= maxTokens) throw exceeded(`${tokens} of ${maxTokens} tokens`);
    if (cost >= maxCost) throw exceeded(`${cost} of ${maxCost}`);
  }

  /** What an infer says of its usage; what it does not say is unknown, and not counted. */
  count(tenant: string, model: string | undefined, usage: Usage): void {
    if (!matching(this.budgets, tenant)) return;
    const { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0 } = usage;
    const price = this.priceOf(model) ?? {};
    const used = this.used.get(tenant) ?? { tokens: 0, cost: 0 };
    used.tokens += input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
    used.cost +=
      (input_tokens * (price.input ?? 0) +
        output_tokens * (price.output ?? 0) +
        cache_read_tokens * (price.cache_read ?? 0) +
        cache_write_tokens * (price.cache_write ?? 0)) /
      1_000_000;
    this.used.set(tenant, used);
  }

  private priceOf(model: string | undefined): Price | undefined {
    return matching(this.prices, model ?? "");
  }
}

function matching<Value>(entries: readonly [string, Value][], text: string): Value | undefined {
  return entries.findLast(([pattern]) => new Glob(pattern).matches(text))?.[1];
}

function exceeded(what: string): BytebotError {
  return new BytebotError("budget_exceeded", `the budget of this tenant is used up: ${what}`);
}
