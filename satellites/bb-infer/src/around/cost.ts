import { BytebotError } from "bytebot/sdk";
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

/** Money can be counted only where it is known what a model costs: throws `invalid_params`. */
export function mustKnow(costs: Costs, model: string, budget: { cost_usd?: number | undefined } = {}): void {
  if (budget.cost_usd === undefined || costs(model, { input_tokens: 1, output_tokens: 1 }) !== undefined) return;
  throw new BytebotError(
    "invalid_params",
    `bb-infer: opts.budget.cost_usd is set, and what ${model} costs is not known: add it to opts.prices, or "*"`,
  );
}
