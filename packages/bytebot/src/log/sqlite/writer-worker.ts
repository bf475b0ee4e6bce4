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
    const jobs = [...first];
    let bytes = jobs.reduce((sum, job) => sum + weightOf(job), 0);
    // All that came while the last commit ran.
    while (bytes < BATCH_BYTES) {
      const more = receiveMessageOnPort(port) as { message: Job[] } | undefined;
      if (!more) break;
      for (const job of more.message) {
        jobs.push(job);
        bytes += weightOf(job);
      }
    }
    const answers = writer.run(jobs);
    const isLast = jobs.at(-1)?.do === "close";
    if (isLast) writer.close();
    say({ answers });
    if (!isLast) writer.tidy(jobs.some((job) => job.do === "trim"));
  });
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
