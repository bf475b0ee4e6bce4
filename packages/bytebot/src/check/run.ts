import { BytebotError } from "../wire/index.ts";
import { wayOf, type Tested } from "./channel.ts";
import { Inapplicable, Unmet, type Check, type Outcome } from "./check.ts";
import { Stage, type Subject } from "./stage.ts";
import { checks } from "./table.ts";
import { shown } from "./trace.ts";

/**
 * Checks that each start a process: more at once and they wait for the machine, not for the component. What is reached
 * otherwise is one program for all of them, and is checked by one at a time.
 */
const AT_ONCE = 4;
/** The longest a check may take: some wait for several answers, one after the other. */
const CHECK_MS = 3 * 60_000;

export interface RunOptions {
  /** Of each answer, in milliseconds; absent: what the rule says, else 10 to 60 s. */
  timeoutMs?: number | undefined;
  /** Only these rules. */
  rules?: readonly string[] | undefined;
  /** The call of a toolsource that may be made. */
  call?: { name: string; input: unknown } | undefined;
  signal: AbortSignal;
}

/**
 * Runs the checks of the component's kind, each on connections of its own, and yields their outcomes in the table's
 * order. Throws BytebotError where the component cannot be reached at all. Nothing of it runs when this has returned.
 */
export async function* run(reached: Tested, options: RunOptions): AsyncGenerator<Outcome> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);
  const { timeoutMs, rules, call } = options;
  const { kind } = reached;
  if (kind === undefined)
    throw new BytebotError("invalid_params", `${reached.name} has no manifest that says its kind: say it with --kind`);
  const subject: Subject = { reached, kind, timeoutMs, call, shut: new Map(), tours: [] };
  const way = wayOf(reached);
  const ofKind = checks.filter((check) => check.kinds.includes(kind));
  const here = ofKind.filter(({ over }) => over === undefined || over === way);
  // A rule that was asked for by name is told of, also where nothing of it can be seen.
  const unseen = (rules ?? []).filter((wanted) => !here.some(({ rule }) => rule === wanted));
  const mine = ofKind.filter((check) => here.includes(check) || unseen.includes(check.rule));
  const wanted = (check: Check): boolean => rules === undefined || rules.includes(check.rule);
  const outcomes = new Map<Check, Promise<Outcome>>();
  for (const gate of mine.filter((check) => check.gate)) {
    const outcome = await perform(gate, subject, signal);
    outcomes.set(gate, Promise.resolve(outcome));
    if (outcome.state === "failed") subject.shut.set(gate.gate!, gate.rule);
  }
  const free = new Slots(reached.start ? AT_ONCE : 1);
  for (const check of mine) {
    if (outcomes.has(check) || !wanted(check)) continue;
    const outcome = free.take(() => perform(check, subject, signal));
    // It is awaited below, in its turn.
    outcome.catch(() => undefined);
    outcomes.set(check, outcome);
  }
  try {
    for (const check of mine) {
      const outcome = await outcomes.get(check);
      if (outcome && (wanted(check) || (check.gate === "handshake" && outcome.state === "failed"))) yield outcome;
    }
  } finally {
    // Whoever stopped reading ends what is under way too.
    leaving.abort();
    free.stop();
    await Promise.allSettled([...outcomes.values(), ...subject.tours]);
  }
}

async function perform(check: Check, subject: Subject, signal: AbortSignal): Promise<Outcome> {
  const { rule, title, level = "MUST", fix } = check;
  const about: Pick<Outcome, "rule" | "title" | "level"> = { rule, title, level };
  const blocked = blockedBy(check, subject);
  if (blocked !== undefined) return { ...about, state: "not_applicable", why: blocked };
  const stage = new Stage(subject, signal);
  try {
    await inTime(check.run(stage), signal);
    return { ...about, state: "passed" };
  } catch (error) {
    if (error instanceof Inapplicable) return { ...about, state: "not_applicable", why: shown(error.message) };
    if (!(error instanceof Unmet)) throw error;
    const state = level === "SHOULD" ? "warned" : "failed";
    const { expected, got, lines = [] } = error;
    return {
      ...about,
      state,
      expected: shown(expected),
      got: shown(got),
      ...(fix === undefined ? {} : { fix }),
      lines,
    };
  } finally {
    await stage.close();
  }
}

function blockedBy(check: Check, { shut, reached }: Subject): string | undefined {
  const way = wayOf(reached);
  if (check.over && check.over !== way) return `this is seen ${places[check.over]}, and it is reached otherwise`;
  if (check.bytes && way === "inproc") return "this is seen of bytes, and it is reached in this process";
  for (const gate of ["handshake", check.needs] as const) {
    const rule = gate === undefined || check.gate === gate ? undefined : shut.get(gate);
    if (rule !== undefined) return `${missing[gate!]} (${rule})`;
  }
  return undefined;
}

const places = {
  stdio: "over stdio alone",
  serves: "of what serves HTTP",
  dials: "of what dials in",
  inproc: "in this process",
};

const missing = {
  handshake: "there is no handshake",
  pong: "it answers no ping",
  answer: "it does not answer",
};

async function inTime(running: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => over.reject(new Unmet("an end of this check", `none in ${CHECK_MS / 1000} s`)),
    CHECK_MS,
  );
  const abort = (): void => over.reject(new BytebotError("cancelled", "the run was stopped"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  // Where it loses the race, its connections are closed next, and with them all it waits for ends.
  running.catch(() => undefined);
  try {
    await Promise.race([running, over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** So many at once, the others in order. */
class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];
  private stopped = false;

  constructor(count: number) {
    this.free = count;
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free--;
    try {
      if (this.stopped) throw new BytebotError("cancelled", "the run was stopped");
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }

  /** What has not begun does not begin. */
  stop(): void {
    this.stopped = true;
  }
}
