import { addSpent, nothingSpent, type Spent } from "../../log/index.ts";
import { BytebotError, type Usage } from "../../wire/index.ts";
import { Glob } from "../tools/glob.ts";
import { beginOf, endOf, type Period } from "./period.ts";

/** What a tenant may use up in each period; without `per`, since its log began. `cost` in the unit of the prices. */
export interface Budget {
  tokens?: number;
  cost?: number;
  turns?: number;
  calls?: number;
  per?: Period;
}

/** Of one model, for a million tokens of each sort; what is left out costs nothing. */
export interface Price {
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
}

/** What is used: `turns` with the first inference of each, `calls` when they are sent, tokens when an inference has ended. */
type Used = Partial<Pick<Spent, "turns" | "calls">> & { usage?: Usage; model?: string | undefined };

const COUNTED = ["tokens", "cost", "turns", "calls"] as const;

/**
 * Budgets by patterns of tenants, prices by patterns of models; the last that matches counts (rule QTA-6). What was used
 * is kept beside the log, in the same commit as what used it: it has to be known before anything is checked.
 */
export class Budgets {
  private readonly budgets: [string, Budget][];
  private readonly prices: [string, Price][];
  private readonly spent = new Map<string, Spent>();

  constructor(budgets: Record<string, Budget>, prices: Record<string, Price>) {
    this.budgets = Object.entries(budgets);
    this.prices = Object.entries(prices);
  }

  get size(): number {
    return this.spent.size;
  }

  /** Does the log have to say first what this tenant has used? */
  needs(tenant: string): boolean {
    return !this.spent.has(tenant) && matching(this.budgets, tenant) !== undefined;
  }

  /** What the log says of it; what was known before is newer. */
  recall(tenant: string, spent: Spent | undefined): void {
    if (this.needs(tenant)) this.spent.set(tenant, spent ?? nothingSpent(0));
  }

  /** Nothing of this tenant is in memory any more. */
  forget(tenant: string): void {
    this.spent.delete(tenant);
  }

  /** Before an inference; `first`: of its turn. Throws `budget_exceeded`, also where a cost cannot be told. */
  checkInference(tenant: string, now: number, model: string | undefined, first: boolean): void {
    const budget = matching(this.budgets, tenant);
    if (budget?.cost !== undefined && !this.priceOf(model)) {
      const what = model === undefined ? "a model that the context does not name" : `the model "${model}"`;
      throw new BytebotError(
        "budget_exceeded",
        `a cost budget is set and no price for ${what}: add one to prices, or "*"`,
      );
    }
    this.check(tenant, now, first ? ["tokens", "cost", "turns"] : ["tokens", "cost"]);
  }

  /** Before a call. Throws `budget_exceeded`. */
  checkCall(tenant: string, now: number): void {
    this.check(tenant, now, ["tokens", "cost", "calls"]);
  }

  /** Counts it, and answers what the log has to keep of it; what an infer does not say of its usage is not counted. */
  spend(tenant: string, now: number, { turns = 0, calls = 0, usage, model }: Used): { spent?: Spent } {
    const budget = matching(this.budgets, tenant);
    if (!budget) return {};
    const { tokens, cost } = this.costOf(usage, model);
    const spent = { since: beginOf(budget.per, now), turns, calls, tokens, cost };
    this.spent.set(tenant, addSpent(this.spent.get(tenant), spent));
    return COUNTED.some((what) => spent[what] > 0) ? { spent } : {};
  }

  private check(tenant: string, now: number, what: readonly (typeof COUNTED)[number][]): void {
    const budget = matching(this.budgets, tenant);
    if (!budget) return;
    const known = this.spent.get(tenant);
    const used = known && known.since >= beginOf(budget.per, now) ? known : nothingSpent(0);
    for (const each of what) {
      const most = budget[each] ?? Infinity;
      if (used[each] < most) continue;
      const until = budget.per ? ` in this ${budget.per}, until ${new Date(endOf(budget.per, now)).toISOString()}` : "";
      const unit = each === "cost" ? "" : ` ${each}`;
      throw new BytebotError(
        "budget_exceeded",
        `the budget of this tenant is used up: ${used[each]} of ${most}${unit}${until}`,
      );
    }
  }

  private costOf(usage: Usage | undefined, model: string | undefined): { tokens: number; cost: number } {
    const price = this.priceOf(model) ?? {};
    const { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0 } = usage ?? {};
    const cost =
      input_tokens * (price.input ?? 0) +
      output_tokens * (price.output ?? 0) +
      cache_read_tokens * (price.cache_read ?? 0) +
      cache_write_tokens * (price.cache_write ?? 0);
    return { tokens: tokensOf(usage), cost: cost / 1_000_000 };
  }

  private priceOf(model: string | undefined): Price | undefined {
    return matching(this.prices, model ?? "");
  }
}

/** Of all sorts together. */
export function tokensOf(usage: Usage | undefined): number {
  const { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0 } = usage ?? {};
  return input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
}

function matching<Value>(entries: readonly [string, Value][], text: string): Value | undefined {
  return entries.findLast(([pattern]) => new Glob(pattern).matches(text))?.[1];
}
