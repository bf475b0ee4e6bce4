import { setTimeout as sleep } from "node:timers/promises";
import type { Event } from "../../src/wire/index.ts";
import { castOf } from "./cast/cast.ts";
import { UiActor } from "./cast/ui.ts";
import { Answers } from "./checks/answers.ts";
import { Approvals } from "./checks/approvals.ts";
import { People } from "./checks/people.ts";
import { Conversations } from "./checks/conversations.ts";
import { Effects } from "./checks/effects.ts";
import { Memory } from "./checks/memory.ts";
import { Modes } from "./checks/modes.ts";
import { Once } from "./checks/once.ts";
import { Provider } from "./checks/provider.ts";
import { Reader } from "./checks/reader.ts";
import { Rest } from "./checks/rest.ts";
import { Spending } from "./checks/spending.ts";
import { Transcript } from "./checks/transcript.ts";
import { Wall } from "./checks/wall.ts";
import type { Random } from "./random.ts";
import { Stage, type Settings } from "./stage.ts";

export interface Outcome {
  seed: number;
  /** What was broken, and where; undefined: every invariant held. */
  failure: string | undefined;
  /** The whole run, line by line. */
  trace: () => string;
  /** Lines of the trace. */
  steps: number;
}

/** Changes to what the seed decides, to find a shorter run that fails the same. */
export type Shrink = Partial<Pick<Settings, "moves" | "crash">>;

/** Everything is over long before this; what is not, hangs. */
const LONGEST_MS = 240_000;
/** Of real time. */
const CLOSE_MS = 10_000;

/** easy: the Hub lives as long as the run; hard: it is killed again and again, and forgets what it may. */
export type Mode = "easy" | "hard";

export async function run(seed: number, mode: Mode = "easy", shrink: Shrink = {}): Promise<Outcome> {
  const stage = new Stage(seed, (random) => ({
    ...settingsOf(random),
    ...(mode === "hard" ? hard(random) : {}),
    ...shrink,
  }));
  const checks = [
    Wall,
    Effects,
    Reader,
    Conversations,
    Provider,
    Answers,
    Once,
    Approvals,
    People,
    Transcript,
    Modes,
    Memory,
    Spending,
    Rest,
  ];
  stage.checks.push(...checks.map((Of) => new Of(stage)));
  const cast = castOf(stage);
  for (const actor of cast) stage.time.in(stage.random.below(20), () => actor.connect());
  stage.time.in(stage.settings.activeMs, () => (stage.quiet = true));
  await rest(stage);
  // Sometimes the last Hub is one that has seen nothing of all that was said.
  if (stage.settings.hard && stage.failure === undefined && stage.random.chance(0.5)) {
    stage.kill();
    await rest(stage);
  }
  // A last word in every conversation: it is taken at once, and the model is shown all that was said there.
  stage.calm = true;
  probe(
    stage,
    cast.filter((actor) => actor instanceof UiActor),
  );
  await rest(stage);
  if (stage.failure === undefined) await end(stage);
  return {
    seed,
    failure: stage.failure,
    trace: () => `${stage.trace.map((line) => line()).join("\n")}\n`,
    steps: stage.trace.length,
  };
}

/** Until nothing moves, something is broken, or it takes too long. */
async function rest(stage: Stage): Promise<void> {
  await stage.time.run(() => {
    stage.tick();
    if (stage.time.elapsed > LONGEST_MS) stage.fail("it does not come to rest");
    return stage.failure !== undefined;
  });
}

/** The last checks; then the Hub closes, and leaves nothing behind. */
async function end(stage: Stage): Promise<void> {
  stage.end();
  // A run that failed stops where it is, so nothing more would close.
  if (stage.failure !== undefined) return;
  stage.over = true;
  const closed = stage.hub.close().then(() => "closed");
  await rest(stage);
  // Its last step is the log's, which may take real time: whoever audits the logs of tests reads it then.
  const late = new AbortController();
  const deadline = sleep(CLOSE_MS, "late", { signal: late.signal }).catch(() => "closed");
  if ((await Promise.race([closed, deadline])) === "late") stage.fail("the Hub does not close");
  late.abort();
  if (stage.life.timers > 0) stage.fail("a closed Hub left a timer");
}

function probe(stage: Stage, people: readonly UiActor[]): void {
  const scopes = new Set(
    stage.log.entries.flatMap(({ events }) => events.map((event: Event) => String(event["scope"]))),
  );
  for (const scope of scopes) {
    const person = people.find(({ tenant }) => tenant === scope.split("/")[0]);
    person?.send("refuse", scope);
  }
}

function settingsOf(random: Random): Settings {
  return {
    latencyMs: random.pick([0, 2, 20, 200]),
    crash: random.pick([0, 0, 0.03, 0.1]),
    context: random.chance(0.7),
    moves: random.between(3, 10),
    activeMs: 12_000,
    hard: undefined,
    faults: random.weighted([
      [4, { lost: 0, unavailable: 0, refused: 0, slowMs: 0 }],
      [4, { lost: 0, unavailable: 0, refused: 0, slowMs: random.pick([50, 300]) }],
      [3, { lost: 0.05, unavailable: 0.05, refused: 0, slowMs: 20 }],
      [3, { lost: 0.02, unavailable: 0.02, refused: 0.03, slowMs: 10 }],
    ]),
  };
}

/** The Hub dies too. No answer of the log is lost but with it: readers resume by the order in which commits are answered. */ function hard(
  random: Random,
): Partial<Settings> {
  return {
    moves: random.between(2, 6),
    activeMs: 8000,
    faults: random.weighted([
      [4, { lost: 0, unavailable: 0, refused: 0, slowMs: random.pick([0, 50, 300]) }],
      [1, { lost: 0, unavailable: 0.1, refused: 0, slowMs: 20 }],
      [1, { lost: 0, unavailable: 0.04, refused: 0.03, slowMs: 10 }],
    ]),
    hard: {
      every: random.pick([100, 300, 1000]),
      atCommit: random.pick([0, 0.005, 0.02]),
      atDecision: random.pick([0, 0.1, 0.4]),
      downMs: random.pick([0, 100, 3000]),
      readMs: random.pick([0, 0, 5, 100]),
      idle: random.pick([1, 2, 3, 1000]),
      retention: random.pick([3, 10, 40, 5000]),
    },
  };
}
