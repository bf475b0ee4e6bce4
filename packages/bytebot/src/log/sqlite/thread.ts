import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, type Transferable } from "node:worker_threads";
import { BytebotError } from "../../wire/index.ts";
import {
  isRefused,
  weightOf,
  type Answer,
  type Job,
  type Opened,
  type Results,
  type Said,
  type WriterOptions,
} from "./jobs.ts";

/** What may wait for the disk, in bytes: more is refused, to be repeated. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Of one turn of the event loop: that many are sent before it is over, so that both threads have work on one commit. */
const AT_ONCE = 32;
/** Without an answer the outcome is unknown: whoever waits may ask again. */
const ANSWER_MS = 30_000;
const START_MS = 30_000;
const CLOSE_MS = 10_000;

interface Waiting {
  job: Job;
  bytes: number;
  /** Cleared when it was answered, or waited too long. */
  resolve: ((value: never) => void) | undefined;
  reject: (error: BytebotError) => void;
}

/**
 * The thread that writes, seen from the event loop: jobs go to it once a turn, their answers come back in the order of
 * their commits. A thread that breaks is replaced with the next job; what it had not answered is `unavailable`.
 */
export class WriterThread {
  private readonly options: WriterOptions;
  /** What it said when it was last started. */
  opened: Opened | undefined;
  private worker: Worker | undefined;
  private starting: Promise<void> | undefined;
  /** Not posted yet. */
  private queue: Waiting[] = [];
  /** Posted, oldest first. */
  private readonly posted: Waiting[] = [];
  private waitingBytes = 0;
  private isFlushing = false;
  private answered = 0;
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;

  constructor(options: WriterOptions) {
    this.options = options;
  }

  /** Rejects with what keeps the file from being opened. */
  start(): Promise<void> {
    return (this.starting ??= this.launch().finally(() => (this.starting = undefined)));
  }

  /** Rejects with what the writer refuses, `unavailable` where it cannot be asked or does not answer. */
  post<J extends Job>(job: J): Promise<Results[J["do"]]> {
    if (this.closing) return Promise.reject(closed());
    return this.send(job);
  }

  /** What was posted is written; the file is free. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private send<J extends Job>(job: J): Promise<Results[J["do"]]> {
    const bytes = weightOf(job);
    if (this.waitingBytes > 0 && this.waitingBytes + bytes > MAX_WAITING_BYTES)
      return Promise.reject(unavailable("too much waits to be written: the disk is too slow for what comes"));
    const { promise, resolve, reject } = Promise.withResolvers<Results[J["do"]]>();
    this.waitingBytes += bytes;
    this.queue.push({ job, bytes, resolve, reject });
    if (this.queue.length >= AT_ONCE) this.flush();
    else if (!this.isFlushing) {
      this.isFlushing = true;
      // After all that this turn of the event loop has still to say.
      process.nextTick(() => {
        this.isFlushing = false;
        this.flush();
      });
    }
    return promise;
  }

  private flush(): void {
    if (this.queue.length === 0 || this.starting) return;
    if (!this.worker) {
      this.start().then(
        () => this.flush(),
        (error: unknown) => this.fail(BytebotError.from(error)),
      );
      return;
    }
    const batch = this.queue;
    this.queue = [];
    const moved: Transferable[] = [];
    for (const waiting of batch) {
      if ("bytes" in waiting.job) moved.push(waiting.job.bytes.buffer as ArrayBuffer);
      this.posted.push(waiting);
    }
    this.worker.ref();
    this.worker.postMessage(
      batch.map(({ job }) => job),
      moved,
    );
    this.timer ??= this.watch();
  }

  /** Nothing was answered for long: a disk that hangs. Whoever waits is told; a late answer is of no use to them. */
  private watch(): NodeJS.Timeout {
    const before = this.answered;
    return setTimeout(() => {
      this.timer = undefined;
      if (this.posted.length === 0) return;
      if (this.answered === before) {
        const error = unavailable(`the disk has not answered for ${ANSWER_MS / 1000} s`);
        for (const waiting of this.posted) settle(waiting, error);
      }
      this.timer = this.watch();
    }, ANSWER_MS).unref();
  }

  private async launch(): Promise<void> {
    const worker = new Worker(new URL(`./writer-worker${extname(fileURLToPath(import.meta.url))}`, import.meta.url), {
      workerData: this.options,
      execArgv: [],
      env: {},
    });
    const { promise, resolve, reject } = Promise.withResolvers<Opened>();
    const late = setTimeout(() => reject(unavailable("the thread that writes did not start")), START_MS);
    const gone = (why: string): void => {
      const error = unavailable(`the thread that writes ended: ${why}`);
      reject(error);
      if (this.worker !== worker) return;
      this.worker = undefined;
      this.fail(error);
    };
    worker.on("error", (error) => gone(error.message));
    worker.on("exit", (code) => gone(`exit code ${code}`));
    worker.on("message", (said: Said) => {
      if ("opened" in said) resolve(said.opened);
      else if ("failed" in said) reject(BytebotError.fromWire(said.failed));
      else this.settle(said.answers);
    });
    try {
      this.opened = await promise;
      this.worker = worker;
      worker.unref();
    } catch (error) {
      void worker.terminate();
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  private settle(answers: readonly Answer[]): void {
    this.answered++;
    for (const [index, waiting] of this.posted.splice(0, answers.length).entries()) {
      this.waitingBytes -= waiting.bytes;
      settle(waiting, answers[index]!);
    }
    if (this.posted.length > 0) return;
    // An idle log does not keep the process.
    this.worker?.unref();
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** All that waits has this answer. */
  private fail(error: BytebotError): void {
    const all = [...this.posted.splice(0), ...this.queue];
    this.queue = [];
    this.waitingBytes = 0;
    for (const waiting of all) settle(waiting, error);
  }

  private async end(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CLOSE_MS);
    // A thread that is gone has nothing to close, and has said so to all that waited.
    if (this.worker || this.starting)
      await Promise.race([this.send({ do: "close" }).catch(() => undefined), late.promise]);
    clearTimeout(timer);
    this.fail(closed());
    const { worker } = this;
    this.worker = undefined;
    clearTimeout(this.timer);
    if (worker) await Promise.race([worker.terminate(), late.promise]);
  }
}

function settle(waiting: Waiting, answer: Answer | BytebotError): void {
  const { resolve, reject } = waiting;
  waiting.resolve = undefined;
  if (!resolve) return;
  if (answer instanceof BytebotError) reject(answer);
  else if (isRefused(answer)) reject(BytebotError.fromWire(answer.error));
  else resolve(answer as never);
}

function unavailable(why: string): BytebotError {
  return new BytebotError("unavailable", `the log: ${why}`, { retryable: true });
}

function closed(): BytebotError {
  return new BytebotError("unavailable", "the log is closed");
}
