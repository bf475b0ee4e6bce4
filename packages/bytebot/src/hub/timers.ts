/** Time, from outside: milliseconds since 1970, and a call after some of them. */
export interface Clock {
  now(): number;
  /** Calls once after `ms`; the answer calls it off. */
  after(ms: number, call: () => void): () => void;
}

const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), LONGEST_MS));
    return () => clearTimeout(timer);
  },
};

interface Deadline {
  /** Undefined: it was called off, and lies here until its time or until there are many of its kind. */
  key: string | undefined;
  at: number;
  order: number;
}

/** Deadlines that were called off may be so many more than those that were not. */
const MAX_VOID = 1000;

/** Deadlines by key; setting one again moves it. One call of the clock stands for all: most are called off in time. */
export class Timers {
  private readonly deadlines = new Map<string, Deadline>();
  private readonly clock: Clock;
  private readonly fire: (key: string) => void;
  /** A heap: the earliest first, of equal ones the oldest. */
  private heap: Deadline[] = [];
  private order = 0;
  /** When the clock calls. */
  private calledAt = Infinity;
  private callOff: () => void = () => undefined;

  constructor(clock: Clock, fire: (key: string) => void) {
    this.clock = clock;
    this.fire = fire;
  }

  set(key: string, at: number): void {
    const before = this.deadlines.get(key);
    if (before) before.key = undefined;
    const deadline = { key, at, order: this.order++ };
    this.deadlines.set(key, deadline);
    this.push(deadline);
    if (at < this.calledAt) this.arm(at);
  }

  clear(key: string): void {
    const deadline = this.deadlines.get(key);
    if (!deadline) return;
    deadline.key = undefined;
    this.deadlines.delete(key);
    if (this.deadlines.size === 0) this.clearAll();
    else if (this.heap.length > 2 * this.deadlines.size + MAX_VOID) this.sweep();
  }

  get size(): number {
    return this.deadlines.size;
  }

  clearAll(): void {
    this.deadlines.clear();
    this.heap = [];
    this.calledAt = Infinity;
    this.callOff();
    this.callOff = () => undefined;
  }

  private arm(at: number): void {
    this.callOff();
    this.calledAt = at;
    this.callOff = this.clock.after(at - this.clock.now(), () => this.due());
  }

  /** Fires what is due, and no more: a clock may call early, and what was earliest may have been called off. */
  private due(): void {
    this.calledAt = Infinity;
    this.callOff = () => undefined;
    const now = this.clock.now();
    for (let next = this.heap[0]; next && (next.key === undefined || next.at <= now); next = this.heap[0]) {
      this.pop();
      if (next.key === undefined) continue;
      this.deadlines.delete(next.key);
      this.fire(next.key);
    }
    const next = this.heap[0];
    if (next && next.at < this.calledAt) this.arm(next.at);
  }

  private sweep(): void {
    // Sorted, it is a heap.
    this.heap = this.heap.filter(({ key }) => key !== undefined).sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  private push(deadline: Deadline): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(deadline);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(deadline, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = deadline;
  }

  /** The earliest goes. */
  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (heap.length === 0 || !last) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Deadline, b: Deadline): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}
