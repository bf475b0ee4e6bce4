import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Timers, type Clock } from "../../src/hub/timers.ts";

/** A clock by hand, which may call a little early, as that of an operating system does. */
class HandClock implements Clock {
  time = 0;
  early = 0;
  calls: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.time + Math.max(1, ms - this.early), call };
    this.calls.push(entry);
    return () => void (this.calls = this.calls.filter((other) => other !== entry));
  }

  to(time: number): void {
    for (;;) {
      const next = this.calls.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > time) break;
      this.calls = this.calls.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.call();
    }
    this.time = time;
  }
}

const move = fc.oneof(
  fc.record({ does: fc.constant("set"), key: fc.nat(40), ms: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ does: fc.constant("clear"), key: fc.nat(40), ms: fc.constant(0) }),
  fc.record({ does: fc.constant("wait"), key: fc.constant(0), ms: fc.nat(9) }),
);

test("each deadline comes at its time and once, the earliest first, and one that was called off never", () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 300 }), fc.nat(2), (moves, early) => {
      const clock = new HandClock();
      clock.early = early;
      const came: string[] = [];
      const due = new Map<string, { at: number; order: number }>();
      const timers = new Timers(clock, (key) => came.push(`${clock.time} ${key}`));
      const expected: string[] = [];
      for (const [order, { does, key, ms }] of moves.entries()) {
        const name = `k${key}`;
        if (does === "set") {
          timers.set(name, clock.time + ms);
          due.set(name, { at: clock.time + ms, order });
        } else if (does === "clear") {
          timers.clear(name);
          due.delete(name);
        } else {
          const until = clock.time + ms;
          const over = [...due].filter(([, { at }]) => at <= until);
          over.sort(([, a], [, b]) => a.at - b.at || a.order - b.order);
          for (const [which, { at }] of over) {
            expected.push(`${at} ${which}`);
            due.delete(which);
          }
          clock.to(until);
        }
        assert.deepEqual(came, expected);
        assert.equal(timers.size, due.size);
        assert.equal(clock.calls.length, due.size > 0 ? 1 : 0, "nothing waits where nothing is due");
      }
    }),
    { numRuns: 300 },
  );
});

test("many deadlines that are called off in time leave nothing behind while others wait", () => {
  const clock = new HandClock();
  const came: string[] = [];
  const timers = new Timers(clock, (key) => came.push(key));
  timers.set("last", 1_000_000);
  for (let n = 0; n < 100_000; n++) {
    timers.set(`n${n}`, 500_000 + n);
    timers.clear(`n${n}`);
  }
  assert.ok(timers["heap"].length < 2000);
  clock.to(2_000_000);
  assert.deepEqual(came, ["last"]);
});
