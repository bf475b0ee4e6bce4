import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { BytebotError, Framer, type Line } from "../wire/index.ts";
import { endGroups, MARKER, type Group } from "./group.ts";
import { unwatch, watch } from "./guard.ts";
import { LineLink, type LineStreams } from "./lines.ts";
import type { Connect } from "./link.ts";

const GRACE_MS = 1000;
const STDERR_LINE_BYTES = 16 * 1024;
/** Of these the reason of an unexpected end is made. */
const LAST_LINES = 5;
const LAST_LINE_CHARS = 300;
const INHERITED = /^(?:PATH|HOME|LANG|LC_.*|TZ|TMPDIR)$/;

export interface ChildOptions {
  /** For people: which satellite this is. */
  name: string;
  /** The program and its arguments, passed as they are: no shell reads them. `node` is the Node that runs us. */
  command: readonly string[];
  cwd: string;
  /** Beside PATH, HOME, LANG, LC_*, TZ and TMPDIR, and after `allowEnv`. */
  env: Readonly<Record<string, string>>;
  /** Names that pass from our own environment, where they are set. */
  allowEnv: readonly string[];
  /** What the satellite prints, line by line; a line over 16 KiB is only counted. */
  onStderr: (line: string) => void;
  /** How long an ending satellite has after stdin was closed, and again after TERM, before KILL. Milliseconds. */
  graceMs?: number;
}

/** A satellite as a process of ours, that speaks on stdin and stdout: it ends with the link, and with us, and all it started too. */
export function child(options: ChildOptions): Connect {
  return async (receiver, signal) => new LineLink(await startChild(options, signal), receiver);
}

/** The process beneath the link, for whoever has to see its bytes. */
export interface ChildStreams extends LineStreams {
  /** Settles when the process itself has ended. */
  exited: Promise<unknown>;
}

/** Starts the process, and leaves its bytes to the caller, who calls `end`. Rejects as `child`'s connect does. */
export async function startChild(options: ChildOptions, signal: AbortSignal): Promise<ChildStreams> {
  if (signal.aborted) throw calledOff(options);
  const group: Group = { marker: randomUUID(), pid: undefined };
  watch(group);
  let running: ChildProcessWithoutNullStreams;
  try {
    running = await start(options, group.marker);
  } catch (error) {
    await unwatch(group);
    throw unavailable(options, error);
  }
  group.pid = running.pid;
  watch(group);
  const life = new Life(running, group, options);
  if (signal.aborted) {
    await life.end();
    throw calledOff(options);
  }
  const streams = { name: options.name, readable: running.stdout, writable: running.stdin };
  return { ...streams, end: () => life.end(), why: (seen) => life.why(seen), exited: life.exited };
}

async function start(
  { command, cwd, env, allowEnv }: ChildOptions,
  marker: string,
): Promise<ChildProcessWithoutNullStreams> {
  const [program = "", ...args] = command;
  const passed = Object.entries(process.env).filter(([name]) => INHERITED.test(name) || allowEnv.includes(name));
  const started = spawn(program === "node" ? process.execPath : program, args, {
    cwd,
    env: { ...Object.fromEntries(passed), ...env, [MARKER]: marker },
    detached: true, // a process group of its own
    stdio: ["pipe", "pipe", "pipe"],
  });
  await once(started, "spawn");
  return started;
}

function calledOff({ name }: ChildOptions): BytebotError {
  return new BytebotError("cancelled", `${name} was not started: the attach was called off`);
}

function unavailable({ name, command, cwd }: ChildOptions, cause: unknown): BytebotError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const program = JSON.stringify(command[0] ?? "");
  let why = cause instanceof Error ? cause.message : String(cause);
  if (!existsSync(cwd)) why = `there is no folder ${cwd} to run it in; correct the reference`;
  else if (!command[0]) why = `its command is empty; give "entry.command" in bytebot.component.json a program`;
  else if (code === "ENOENT")
    why = `there is no program ${program}; install it, or correct "entry.command" in bytebot.component.json`;
  else if (code === "EACCES")
    why = `${program} may not be executed; run chmod +x on it, or correct "entry.command" in bytebot.component.json`;
  return new BytebotError("unavailable", `cannot start ${name}: ${why}`, { cause });
}

/** One run of the process, from its start until nothing of it is left. */
class Life {
  readonly exited: Promise<unknown>;
  private readonly running: ChildProcessWithoutNullStreams;
  private readonly group: Group;
  private readonly graceMs: number;
  private readonly closed: Promise<unknown>;
  private readonly lastLines: string[] = [];
  private ended: Promise<void> | undefined;

  constructor(running: ChildProcessWithoutNullStreams, group: Group, options: ChildOptions) {
    this.running = running;
    this.group = group;
    this.graceMs = options.graceMs ?? GRACE_MS;
    this.exited = new Promise((resolve) => running.once("exit", resolve));
    this.closed = new Promise((resolve) => running.once("close", resolve));
    // What it started may hold its stdout open: the end of the process is the end of the satellite.
    running.once("exit", () => void this.end());
    this.listen(options.onStderr);
  }

  /** After the streams ended by themselves: how the process did. */
  async why(seen: string): Promise<string> {
    await within(this.graceMs, this.closed);
    const { exitCode, signalCode } = this.running;
    const how = signalCode
      ? `it was ended by ${signalCode}`
      : exitCode === null
        ? `${seen}, while it went on running`
        : `it exited with code ${exitCode}`;
    const said = this.lastLines.length === 0 ? "" : `; the last it said on stderr: ${this.lastLines.join(" | ")}`;
    return `${how}${said}`;
  }

  /** End of stdin, TERM, KILL: until nothing of it is left. */
  end(): Promise<void> {
    this.ended ??= this.finish();
    return this.ended;
  }

  private async finish(): Promise<void> {
    const { stdin, stdout, stderr } = this.running;
    stdin.end();
    await within(this.graceMs, this.exited);
    const left = await endGroups([this.group], this.graceMs);
    if (left.length > 0) process.emitWarning(`processes ${left.join(", ")} of a satellite could not be ended`);
    await unwatch(this.group);
    // Whoever holds the other ends now is none of ours.
    await within(this.graceMs, this.closed);
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
  }

  private listen(onStderr: (line: string) => void): void {
    const hear = (line: string): void => {
      this.lastLines.push(line.slice(0, LAST_LINE_CHARS));
      if (this.lastLines.length > LAST_LINES) this.lastLines.shift();
      onStderr(line);
    };
    const framer = new Framer(STDERR_LINE_BYTES);
    const sink = {
      line: (line: Line) => hear(Buffer.from(line).toString()),
      tooLong: (size: number) => hear(`(a line of ${size} bytes, left out)`),
    };
    const { stderr } = this.running;
    stderr.on("data", (chunk: Buffer) => framer.push(chunk, sink));
    stderr.once("end", () => framer.end(sink));
    stderr.on("error", (error) => hear(`(reading stderr failed: ${error.message})`));
  }
}

/** Resolves with the promise, or when the time is up. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([promise, setTimeout(ms, undefined, { signal: timer.signal }).catch(() => {})]);
  timer.abort();
}
