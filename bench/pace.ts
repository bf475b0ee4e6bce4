/** Many scopes on a few streams, at a steady rate: the load, and the time each event takes from its sender to its reader. */
import { setTimeout } from "node:timers/promises";
import { type Figure, percentiles } from "./work.ts";

export const STREAMS = 10;
export const SCOPES = 1_000;
export const RATE = 20_000; // events a second, over all scopes
const TICK_MS = 5;
const WARM_UP_S = 1;
const SECONDS = 3;
/** Of the whole run. */
export const EVENTS = RATE * (WARM_UP_S + SECONDS);
export const MEASURED_EVENTS = RATE * SECONDS;

export const scopeOf = (number: number) => `u_${number % STREAMS}/c_${number}`;
export const streamOf = (scope: string) => Number(scope.slice(2, scope.indexOf("/")));

/** µs on a clock that all processes of a machine share. */
export const microsNow = () => Number(process.hrtime.bigint() / 1000n);

/** Calls `emit` once for each event, at the rate; where it is late it catches up. */
export async function pace(emit: (number: number) => void): Promise<void> {
  const started = microsNow();
  for (let sent = 0; sent < EVENTS;) {
    const due = Math.min(EVENTS, ((microsNow() - started) / 1e6) * RATE);
    while (sent < due) emit(sent++);
    await setTimeout(TICK_MS);
  }
}

/** One stream's events: `read` each with the time it was sent at; resolves when all have come, without the warm-up. */
export function reader(begin: () => void = () => {}) {
  const { promise: figure, resolve } = Promise.withResolvers<Figure>();
  const warmUp = (RATE * WARM_UP_S) / STREAMS;
  const times: number[] = [];
  let come = 0;
  const read = (sentAt: number) => {
    if (++come === warmUp) begin();
    if (come > warmUp) times.push(microsNow() - sentAt);
    if (come === EVENTS / STREAMS) resolve(percentiles(times));
  };
  return { read, figure };
}
