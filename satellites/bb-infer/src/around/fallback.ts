import { BytebotError, type ErrorCode } from "bytebot/sdk";
import type { Provider } from "../provider.ts";
import { until } from "../until.ts";
import { OverBudget } from "./budget.ts";
import { shownOf } from "./rate.ts";
import { Seen } from "./seen.ts";

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
          if (!mayGoOn(error) || seen.begun || context.signal.aborted) throw error;
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

/** True for what another model may do better. */
export function mayGoOn(error: unknown): error is BytebotError {
  return error instanceof BytebotError && mendable.includes(error.code) && !(error instanceof OverBudget);
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
