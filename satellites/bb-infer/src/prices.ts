import type { Usage } from "bytebot/sdk";

/** US dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
}

/** The cost of one answer in US dollars; undefined: unknown, which is not nothing. */
export type Costs = (model: string, usage: Usage) => number | undefined;

/**
 * By the app's own table of model patterns, the last that matches; without one by the table of genai-prices, in which
 * `vendor` is looked up. A model that has no price has no cost, and so has an answer whose tokens are not known.
 */
export async function openPrices(table: Record<string, Price> | undefined, vendor: string | undefined): Promise<Costs> {
  if (table) return (model, usage) => ofTable(Object.entries(table), model, usage);
  if (vendor === undefined) return () => undefined;
  const { calcPrice } = await import("@pydantic/genai-prices");
  return (model, usage) => {
    const {
      input_tokens: input,
      output_tokens: output,
      cache_read_tokens: read = 0,
      cache_write_tokens: write = 0,
    } = usage;
    if (input === undefined || output === undefined) return undefined;
    const counts = { input_tokens: input + read + write, output_tokens: output, cache_read_tokens: read };
    return calcPrice({ ...counts, cache_write_tokens: write }, model, { providerId: vendor })?.total_price;
  };
}

/** Tokens that the model reads at most, where the table knows it. */
export async function contextOf(vendor: string | undefined, model: string): Promise<number | undefined> {
  if (vendor === undefined) return undefined;
  const { calcPrice } = await import("@pydantic/genai-prices");
  return calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId: vendor })?.model.context_window;
}

/** What a million tokens of a short request cost, by the table of genai-prices; undefined: unknown. */
export async function priceOf(vendor: string | undefined, model: string): Promise<Price | undefined> {
  if (vendor === undefined) return undefined;
  const { calcPrice } = await import("@pydantic/genai-prices");
  const found = calcPrice({ input_tokens: 1_000, output_tokens: 1_000 }, model, { providerId: vendor });
  const perMillion = (price: number) => Number((price * 1_000).toPrecision(6));
  return found ? { input: perMillion(found.input_price), output: perMillion(found.output_price) } : undefined;
}

function ofTable(table: readonly [string, Price][], model: string, usage: Usage): number | undefined {
  const price = table.findLast(([pattern]) => matches(pattern, model))?.[1];
  const {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: read = 0,
    cache_write_tokens: write = 0,
  } = usage;
  if (!price || input === undefined || output === undefined) return undefined;
  const { cache_read = price.input, cache_write = price.input } = price;
  return (input * price.input + output * price.output + read * cache_read + write * cache_write) / 1_000_000;
}

/** `*` is any run of characters. */
function matches(pattern: string, model: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(model);
}
