import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Outcome } from "./schema.ts";

/** Schemas to compile, and for each of `values` the check by the schema at its place. */
export interface Work {
  schemas: readonly string[];
  values: readonly unknown[];
}

interface Job {
  work: Work;
  done: (outcome: Outcome) => void;
}

const MEMORY_MB = 64;
/** What a thread may take to start. */
const START_MS = 10_000;

/**
 * One thread for what a schema may make long: each check has `ms` milliseconds, then the thread is ended and a new one
 * started. Whoever asks for much waits for themselves: their turns come one by one, in a circle (rule TOL-7).
 */
export class SchemaThread {
  private readonly ms: number;
  /** What waits, by who asks. */
  private readonly waiting = new Map<string, Job[]>();
  private worker: Worker | undefined;
  private current: Job | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** `done` is called once, later, whatever happens; not after `close`. */
  check(by: string, work: Work, done: (outcome: Outcome) => void): void {
    const jobs = this.waiting.get(by);
    if (jobs) jobs.push({ work, done });
    else this.waiting.set(by, [{ work, done }]);
    if (!this.current) this.next();
  }

  async close(): Promise<void> {
    this.waiting.clear();
    await this.drop();
  }

  private next(): void {
    const first = this.waiting.entries().next().value;
    if (!first) return this.worker?.unref();
    const [by, jobs] = first;
    this.waiting.delete(by);
    this.current = jobs.shift()!;
    if (jobs.length > 0) this.waiting.set(by, jobs);
    if (this.worker) this.hand();
    else this.start();
  }

  private hand(): void {
    this.worker!.ref();
    this.timer = setTimeout(() => this.fail(`it takes more than ${this.ms} ms to apply`), this.ms);
    this.worker!.postMessage(this.current!.work);
  }

  private start(): void {
    const file = fileURLToPath(import.meta.url);
    const worker = new Worker(new URL(`./schema-worker${extname(file)}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
      execArgv: [],
      env: {},
    });
    this.worker = worker;
    this.timer = setTimeout(() => this.fail("the thread that applies it did not start"), START_MS);
    worker.on("message", (said: Outcome | "ready") => {
      if (worker !== this.worker) return;
      clearTimeout(this.timer);
      if (said === "ready") this.hand();
      else this.finish(said);
    });
    worker.on("error", (error) => {
      if (worker === this.worker) this.fail(`it broke the thread that applied it: ${error.message}`);
    });
  }

  /** The thread is lost, and its work has its answer. */
  private fail(why: string): void {
    // Nobody waits for its end: it cannot be heard any more.
    void this.drop(true);
    this.finish({ result: "unusable", why });
  }

  private finish(outcome: Outcome): void {
    const job = this.current;
    this.current = undefined;
    job?.done(outcome);
    if (!this.current) this.next();
  }

  private async drop(keepJob = false): Promise<void> {
    clearTimeout(this.timer);
    const worker = this.worker;
    this.worker = undefined;
    if (!keepJob) this.current = undefined;
    await worker?.terminate();
  }
}
