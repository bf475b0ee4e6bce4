import { basename } from "node:path";
import { budgeted, Spent, type Budgeted } from "./around/budget.ts";
import { mustKnow, priced } from "./around/cost.ts";
import { mayGoOn, withFallbacks, type Fallback } from "./around/fallback.ts";
import { paced, Rate } from "./around/rate.ts";
import { chooseFallback, type Choice, type ChooseOptions } from "./choose.ts";
import { embeddedClaims } from "./embedded/claims.ts";
import { Opened } from "./opened.ts";
import type { Options, Reach } from "./options.ts";
import { openPrices } from "./prices.ts";
import type { Provider } from "./provider.ts";
import { claimsOf, withOwn, type Claimed } from "./remote/claims.ts";
import { isVendors, knownOf } from "./remote/known.ts";
import { openRemote } from "./remote/provider.ts";
import { until } from "./until.ts";
import { prepareWeights, type Progress } from "./weights/index.ts";

export interface OpenOptions extends ChooseOptions {
  signal: AbortSignal;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** What the first model can do, where it was asked already. */
  claimed?: Claimed | undefined;
}

/** How one of the models is opened. */
interface One extends OpenOptions {
  isPrimary: boolean;
  spent: Spent | undefined;
}

/**
 * A choice → what answers: the model, at the pace of its key, with its cost, within the budget, and the fallbacks behind it.
 * The embedded model is downloaded where needed, and loaded. A fallback is chosen and opened when it is first asked: what
 * is wrong with it takes nothing from the model before it; nor does a first model that cannot be opened from those behind.
 * Rejects with BytebotError.
 */
export async function open(choice: Choice, options: OpenOptions): Promise<Provider> {
  const { fallbacks = [], budget, rate } = choice.options;
  const spent = budget && new Spent(budget);
  const rates = new Map<string, Rate>();
  const at = async (one: Choice, own: One): Promise<Provider> => {
    if (one.kind === "embedded") return openModel(one, choice.options, own);
    const provider = await openServer(one, choice.options, own);
    if (!rate) return provider;
    // One key has one pace, whichever models it is used for.
    const key = one.keyEnv ?? one.baseUrl ?? one.provider;
    const shared = rates.get(key) ?? new Rate(rate);
    rates.set(key, shared);
    return paced(provider, shared);
  };
  const others = fallbacks.map((fallback): Fallback => {
    const opened = new Opened(async (closing) => {
      const own = { ...options, spent, signal: AbortSignal.any([options.signal, closing]), isPrimary: false };
      return at(await chooseFallback(fallback, choice, own), own);
    });
    return { name: nameOf(fallback), get: () => opened.get(), close: () => opened.close() };
  });
  const first = new Opened(async (closing) =>
    at(choice, { ...options, spent, signal: AbortSignal.any([options.signal, closing]), isPrimary: true }),
  );
  try {
    return withFallbacks(await first.get(), others);
  } catch (error) {
    if (others.length === 0 || !mayGoOn(error)) throw error;
    return withFallbacks(unopened(first, choice.model ?? choice.provider), others);
  }
}

/** A model that could not be opened yet: each request tries again, and what goes wrong is its failure. */
function unopened(model: Opened, label: string): Provider {
  return {
    label,
    capabilities: {},
    infer: async (request, reply, context) => (await until(model.get(), context.signal)).infer(request, reply, context),
    close: () => model.close(),
  };
}

function nameOf(fallback: string | Reach): string {
  if (typeof fallback === "string") return fallback;
  const { provider, model, base_url } = fallback;
  return [model ?? provider, base_url].filter((part) => part !== undefined).join(" at ");
}

type Of<Kind extends Choice["kind"]> = Extract<Choice, { kind: Kind }>;

async function openModel(one: Of<"embedded">, { prices, budget }: Options, options: One): Promise<Provider> {
  // What runs here costs nothing, unless the app says otherwise.
  const costs = await openPrices(prices ?? { "*": { input: 0, output: 0 } }, undefined);
  const file = await prepareWeights({ model: one.model, signal: options.signal, onProgress: options.onProgress });
  // Where a server answers, llama.cpp is not loaded.
  const { openEmbedded } = await import("./embedded/provider.ts");
  const { params, tools } = one.options;
  // Checked before: a model that was loaded and then refused would keep its memory.
  mustKnow(costs, basename(file), budget);
  const provider = await openEmbedded({ file, params, tools, signal: options.signal });
  return counted(provider, { model: basename(file), costs, params }, options.spent);
}

async function openServer(
  one: Of<"remote">,
  { prices, budget, timeouts, retry }: Options,
  { env, isPrimary, signal, spent, claimed: known }: One,
): Promise<Provider> {
  const { provider, model, baseUrl, keyEnv } = one;
  const { params, headers, settings, api, cache } = one.options;
  const costs = await openPrices(prices, isVendors(one) ? knownOf(provider).prices : undefined);
  mustKnow(costs, model, budget);
  const claimed =
    (isPrimary && known) || (await claimsOf({ ...one.options, provider, model, baseUrl, keyEnv, env }, signal));
  const reach = { provider, model, api, baseUrl, keyEnv, headers, params, settings, cache, timeouts, retry };
  return counted(await openRemote({ ...reach, ...claimed, isPrimary, env }), { model, costs, params }, spent);
}

/** Tells what its answers cost, and keeps within the budget. */
function counted(provider: Provider, about: Budgeted, spent: Spent | undefined): Provider {
  const withCost = priced(provider, about.model, about.costs);
  return spent ? budgeted(withCost, about, spent) : withCost;
}

/** What a choice will announce, before it is opened: the handshake does not wait for a download. */
export async function claims(choice: Choice, signal: AbortSignal, env = process.env): Promise<Claimed> {
  if (choice.kind === "remote") return claimsOf({ ...choice.options, ...choice, env }, signal);
  const { capabilities } = choice.options;
  return { capabilities: withOwn(capabilities, embeddedClaims(choice.model, choice.options)), media: undefined };
}
