import type { Event } from "../wire/index.ts";
import { blobsIn } from "./blobs.ts";
import { Causes } from "./causes.ts";
import { differenceOf, Names, type Difference } from "./difference.ts";
import { callsAtOnce, limitsOf } from "./limits.ts";
import { partOf } from "./part.ts";
import { Plan } from "./plan.ts";
import type { Recorded, Recording } from "./recording.ts";
import { isOfSchema, NO_SCHEMA } from "./said.ts";
import { Stage } from "./stage.ts";

/** Deadlines that may come before a recorded event does. */
const MOST_DEADLINES = 1000;
const SOME_TIME = 1_764_000_000_000;

/** The first place where the replay is not the recording. */
export interface Found {
  /** Absent: the recording has ended, and the Hub goes on. */
  line?: number | undefined;
  /** Absent: one of the two is missing. */
  difference?: Difference | undefined;
  recorded?: Event | undefined;
  replayed?: Event | undefined;
  /** What the Hub said about what it was sent last. */
  why: string[];
}

/** What became of the recording of one cell. `events`: how many came again. */
export interface Replayed {
  cell: string;
  events: number;
  notes: string[];
  found?: Found;
}

/** Runs what is recorded of each cell again, with a Hub of its own, one after the other. Rejects when `signal` aborts. */
export async function* replay(recording: Recording, signal: AbortSignal): AsyncGenerator<Replayed> {
  for (const [cell, recorded] of recording.cells) yield await replayCell(cell, recorded, recording, signal);
}

async function replayCell(
  cell: string,
  recorded: readonly Recorded[],
  { tools, answers }: Recording,
  signal: AbortSignal,
): Promise<Replayed> {
  const { events, notes, cut } = partOf(recorded);
  const plan = new Plan(events, tools);
  const time = events.find(({ event }) => event["ts"] !== undefined)?.event["ts"] as number | undefined;
  const { tools: played, context } = plan;
  const cast = {
    tools: played,
    context,
    blobs: blobsIn(events),
    limits: limitsOf(events),
    calls: callsAtOnce(events),
    time: time ?? SOME_TIME,
  };
  const stage = await Stage.open(cast);
  try {
    const names = new Names();
    const causes = new Causes(stage, plan, names, answers);
    const compare = (a: Event, b: Event) => differenceOf(a, b, names);
    let count = 0;
    for (const each of events) {
      signal.throwIfAborted();
      const replayed = await next(stage, causes, each);
      const schemaKnown = tools.has(String(each.event["name"]));
      const [wanted, got] = [each.event, replayed].map((event) => event && comparable(event, each.event, schemaKnown));
      const difference = got && compare(wanted!, got);
      if (!replayed || difference) {
        const found = { line: each.line, difference, recorded: each.event, replayed, why: stage.complaints };
        return { cell, events: count, notes, found };
      }
      stage.take();
      causes.happened(each);
      count++;
    }
    await stage.settled();
    const more = stage.rest().find((event) => !cut.has(String(event["scope"])));
    const found = more && { replayed: more, why: [] };
    return { cell, events: count, notes, ...(found ? { found } : {}) };
  } finally {
    await stage.close();
  }
}

/** The event that the Hub has in this one's place: of itself, by what is done now, or in time. */
async function next(stage: Stage, causes: Causes, recorded: Recorded): Promise<Event | undefined> {
  const { event } = recorded;
  stage.clock.reach(event["ts"]);
  if (!stage.peek()) {
    stage.complaints = [];
    // A context that does not have the history is asked once more, with the whole (rule HIS-3).
    for (let more = true, count = 0; more && !stage.peek() && count < 2; count++) {
      await causes.cause(recorded);
      await stage.settled();
      more = event["kind"] === "loop_done" && stage.renders.has(String(event["scope"]));
    }
  }
  for (let count = 0; isOfTime(event) && !stage.peek() && count < MOST_DEADLINES && stage.clock.next(); count++)
    await stage.settled();
  return stage.peek();
}

/** May it be what a deadline led to? */
function isOfTime(event: Event): boolean {
  switch (event.event_type) {
    case "bb_infer_request":
      return event["attempt"] !== 0;
    case "bb_infer_result":
    case "bb_tool_call_result":
      return event["synthetic"] === true;
    case "input_resolved":
      return event["outcome"] === "expired";
    case "infer_chunk":
      return event["kind"] === "loop_done" && event["error"] !== undefined;
    default:
      return false;
  }
}

/** Without what the recording does not hold, and the replay says otherwise or more of. */
function comparable(event: Event, recorded: Event, schemaKnown: boolean): Event {
  // A transcript has the result as its infer sent it.
  if (event.event_type === "bb_infer_result" && recorded["seq"] === undefined) {
    const { interrupted: _, will_retry: __, ...sent } = event;
    return sent as Event;
  }
  // Why arguments do not fit is said by their schema.
  if (schemaKnown || event.event_type !== "bb_tool_call_result" || !isOfSchema(event)) return event;
  const error = { ...(event["error"] as object), message: NO_SCHEMA };
  return { ...event, content: [{ type: "text", text: NO_SCHEMA }], error };
}
