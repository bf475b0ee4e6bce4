/**
 * Loaded into every test file that is measured (--import): threads count too. The Hub starts its thread without an
 * environment and ends it without notice, so the thread is told where its counts go, and writes them after each message.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import type * as workerThreads from "node:worker_threads";
import { isMainThread, parentPort, type WorkerOptions } from "node:worker_threads";
import { takeCoverage } from "node:v8";

const { NODE_V8_COVERAGE } = process.env;

if (isMainThread) {
  const threads = createRequire(import.meta.url)("node:worker_threads") as typeof workerThreads;
  threads.Worker = class extends threads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const execArgv = [...(options.execArgv ?? []), "--import", import.meta.filename];
      super(file, { ...options, execArgv, env: { NODE_V8_COVERAGE } });
    }
  };
  syncBuiltinESMExports();
} else parentPort!.on("message", () => setImmediate(takeCoverage));
