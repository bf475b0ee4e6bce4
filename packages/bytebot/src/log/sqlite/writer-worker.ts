import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { toLogError } from "./errors.ts";
import { weightOf, type Job, type Said, type WriterOptions } from "./jobs.ts";
import { Writer } from "./writer.ts";

/**
 * The thread that writes: where a disk may be slow, and nobody else waits for it. It and what it imports take single
 * files of wire/: with all schemas, a start takes thrice as long.
 */

/** What one transaction takes at most, in bytes: whoever comes later shares the next. */
const BATCH_BYTES = 8 * 1024 * 1024;

const port = parentPort!;
const options = workerData as WriterOptions;

function serve(writer: Writer): void {
  port.on("message", (first: Job[]) => {
    const jobs: Job[] = [];
    let bytes = 0;
    const take = (some: readonly Job[]): void => {
      for (const job of some) {
        jobs.push(job);
        bytes += weightOf(job);
      }
    };
    take(first);
    // All that came while the last commit ran, and what comes until this one: the other thread is still sending.
    const answers = writer.run(jobs, () => {
      const more = bytes < BATCH_BYTES ? (receiveMessageOnPort(port) as { message: Job[] } | undefined) : undefined;
      if (more) take(more.message);
      return more !== undefined;
    });
    writer.scrub(jobs.some((job, index) => (job.do === "drop" ? answers[index] === false : isWipe(job))));
    const isLast = jobs.at(-1)?.do === "close";
    if (isLast) writer.close();
    say({ answers });
    if (!isLast) writer.tidy(jobs.some((job) => job.do === "trim"));
  });
}

function isWipe(job: Job): boolean {
  return job.do === "append" && job.wipe === true;
}

function say(said: Said): void {
  port.postMessage(said);
}

try {
  const writer = new Writer(options);
  say({ opened: writer.opened });
  serve(writer);
} catch (error) {
  say({ failed: toLogError(error, options.file).toWire() });
}
