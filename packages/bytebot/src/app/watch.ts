import type { Hub } from "../hub/index.ts";
import { BytebotError, encloses, type Event } from "../wire/index.ts";
import { Backlog, MAX_WAITING } from "./backlog.ts";

export interface EventsOptions {
  signal?: AbortSignal;
  types?: readonly string[];
}

/**
 * The events of a scope and all below it ("*": of every scope, and the connections' own), once each, as stamped, from now
 * on. Ends with the signal or the Hub. A reader that is more than 1,000 events behind gets deltas that follow each other in
 * one block as one (rule CHK-7); one that is 10,000 behind all the same gets `overloaded`.
 */
export function watch(
  hub: Hub,
  scope: string,
  closed: AbortSignal,
  options: EventsOptions,
): AsyncIterableIterator<Event> {
  const queue = new Backlog();
  const types = options.types && new Set(options.types);
  let waiting: PromiseWithResolvers<IteratorResult<Event>> | undefined;
  let failure: BytebotError | undefined;
  let state: "open" | "ended" = "open";
  const end = (): void => {
    if (state === "ended") return;
    state = "ended";
    watcher.stop();
    for (const signal of signals) signal.removeEventListener("abort", end);
    waiting?.resolve({ value: undefined, done: true });
    waiting = undefined;
  };
  const watcher = hub.watch((event) => {
    const at = event["scope"];
    if (scope !== "*" && (typeof at !== "string" || !encloses(scope, at))) return;
    if (types && !types.has(event.event_type)) return;
    if (waiting) {
      waiting.resolve({ value: event, done: false });
      waiting = undefined;
    } else if (!queue.push(event)) {
      failure = new BytebotError(
        "overloaded",
        `events("${scope}") fell ${MAX_WAITING} events behind: read faster, or narrow it by scope and types`,
      );
      queue.clear();
      end();
    }
  });
  const signals = options.signal ? [closed, options.signal] : [closed];
  for (const signal of signals) {
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }
  return {
    async next() {
      if (failure) throw failure;
      const event = queue.shift();
      if (event) return { value: event, done: false };
      if (state === "ended") return { value: undefined, done: true };
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
    async return() {
      end();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
