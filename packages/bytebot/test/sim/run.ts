import { setTimeout as sleep } from "node:timers/promises";
import type { Event } from "../../src/wire/index.ts";
import { castOf } from "./cast/cast.ts";
import { UiActor } from "./cast/ui.ts";
import { Answers } from "./checks/answers.ts";
import { Effects } from "./checks/effects.ts";
import { Provider } from "./checks/provider.ts";
import { Reader } from "./checks/reader.ts";
import { Rest } from "./checks/rest.ts";
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
const LONGEST_MS = 120_000;
const ACTIVE_MS = 12_000;
/** Of real time. */
const CLOSE_MS = 10_000;

export async function run(seed: number, shrink: Shrink = {}): Promise<Outcome> {
  const stage = new Stage(seed, (random) => ({ ...settingsOf(random), ...shrink }));
  const checks = [Wall, Effects, Reader, Provider, Answers, Transcript, Rest];
  stage.checks.push(...checks.map((Of) => new Of(stage)));
  const cast = castOf(stage);
  for (const actor of cast) stage.time.in(stage.random.below(20), () => actor.connect());
  stage.time.in(ACTIVE_MS, () => (stage.quiet = true));
  await rest(stage);
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
  if (stage.time.hubTimers > 0) stage.fail("a closed Hub left a timer");
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
    faults: random.weighted([
      [4, { lost: 0, unavailable: 0, refused: 0, slowMs: 0 }],
      [4, { lost: 0, unavailable: 0, refused: 0, slowMs: random.pick([50, 300]) }],
      [3, { lost: 0.05, unavailable: 0.05, refused: 0, slowMs: 20 }],
      [3, { lost: 0.02, unavailable: 0.02, refused: 0.03, slowMs: 10 }],
    ]),
  };
}
