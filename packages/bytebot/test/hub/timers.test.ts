import assert from "node:assert/strict";
import { test } from "node:test";
import { Timers, type Clock } from "../../src/hub/timers.ts";

/** Its timers come when the test says so, early or not. */
class LooseClock implements Clock {
  time = 1000;
  readonly waits: { ms: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const wait = { ms, call };
    this.waits.push(wait);
    return () => void this.waits.splice(this.waits.indexOf(wait), 1);
  }

  come(time: number): void {
    this.time = time;
    this.waits.shift()!.call();
  }
}

test("a deadline that the system's timer takes a moment too early is still taken, at its time (TOL-8)", () => {
  const clock = new LooseClock();
  const fired: string[] = [];
  const timers = new Timers(clock, (key) => fired.push(`${key} at ${clock.time}`));
  timers.set("call:c_1", 1100);
  clock.come(1099);
  assert.deepEqual([fired, clock.waits.map(({ ms }) => ms)], [[], [1]]);
  clock.come(1100);
  assert.deepEqual([fired, clock.waits], [["call:c_1 at 1100"], []]);
});

test("a deadline that was put off or called off after an early timer is not taken", () => {
  const clock = new LooseClock();
  const fired: string[] = [];
  const timers = new Timers(clock, (key) => fired.push(key));
  timers.set("call:c_1", 1100);
  clock.come(1099);
  timers.clear("call:c_1");
  assert.deepEqual([fired, clock.waits], [[], []]);
});
