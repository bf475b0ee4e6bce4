import type { Event } from "../wire/index.ts";
import type { Recorded } from "./recording.ts";

/** What of a cell's recording can be replayed, and what is to be said of the rest. */
export interface Part {
  events: Recorded[];
  notes: string[];
  /** Conversations that the recording leaves in the middle of something. */
  cut: ReadonlySet<string>;
}

/** Leaves out what began before the recording did: its beginning is not there to be repeated. */
export function partOf(recorded: readonly Recorded[]): Part {
  const notes: string[] = [];
  const scopes = new Map<string, Recorded[]>();
  const waiting = new Map<string, number>();
  for (const each of recorded) {
    const scope = String(each.event["scope"]);
    const own = scopes.get(scope);
    if (!own && each.event.event_type === "bb_snapshot") {
      waiting.set(scope, waitingIn(each.event));
      notes.push(`${scope} begins with a snapshot (line ${each.line}): what came before it is not in the file`);
    }
    if (!own) scopes.set(scope, []);
    if (each.event.event_type !== "bb_snapshot") scopes.get(scope)!.push(each);
  }
  const starts = new Map([...scopes].map(([scope, events]) => [scope, startOf(events, waiting.get(scope) ?? 0)]));
  const known = new Known();
  const begun = new Set<string>();
  const events: Recorded[] = [];
  const kept = new Map<string, Counts>();
  const left = new Map<string, { count: number; line: number }>();
  for (const each of recorded) {
    const { event, line } = each;
    if (event.event_type === "bb_snapshot") continue;
    const scope = String(event["scope"]);
    // There is nothing yet that could be renamed or deleted.
    if (event.event_type.startsWith("conversation_") && !kept.has(scope)) continue;
    if (starts.get(scope) === each || starts.get(scope) === "first") begun.add(scope);
    if (begun.has(scope) && known.begins(event)) {
      events.push(each);
      const count = kept.get(scope) ?? new Counts();
      count.add(event, line);
      kept.set(scope, count);
    } else left.set(scope, { count: (left.get(scope)?.count ?? 0) + 1, line });
  }
  for (const [scope, { count, line }] of left)
    notes.push(`${scope}: ${count} events up to line ${line} belong to what began before the recording: not replayed`);
  const cut = new Set<string>();
  for (const [scope, count] of kept) {
    if (!count.isOpen) continue;
    cut.add(scope);
    notes.push(`${scope}: the recording ends in the middle of a turn (line ${count.line})`);
  }
  return { events, notes, cut };
}

/** Inputs of a snapshot that turns of their own are still to come of. */
function waitingIn(snapshot: Event): number {
  const { state } = snapshot as { state?: { open: Event[] } };
  return (state?.open ?? []).filter(({ event_type, mode }) => event_type === "user_event" && mode !== "steer").length;
}

/** The place from which a conversation's turns are whole: its first, unless one of them had begun before. */
function startOf(events: readonly Recorded[], waiting: number): Recorded | "first" | undefined {
  const first = events.findIndex(({ event }) => event["loop_id"] !== undefined);
  const begins = first === -1 || (isFirstOfLoop(events[first]!.event) && events.slice(0, first).some(isInput));
  if (begins && waiting === 0) return "first";
  const count = new Counts();
  count.inputs = waiting;
  count.running = true;
  for (const [index, { event, line }] of events.entries()) {
    count.add(event, line);
    const next = events[index + 1];
    // The first loop's input is not there.
    if (isLoopDone(event) && count.inputs <= count.ended - 1 && next && isInput(next)) return next;
  }
  return undefined;
}

function isFirstOfLoop(event: Event): boolean {
  const begins = event.event_type === "bb_infer_request" || isLoopDone(event);
  return begins && event["round"] === 0 && (event["attempt"] ?? 0) === 0;
}

function isInput({ event }: Recorded): boolean {
  return event.event_type === "user_event";
}

function isLoopDone(event: Event): boolean {
  return event.event_type === "infer_chunk" && event["kind"] === "loop_done";
}

/** Inputs that become turns, and turns that ended. */
class Counts {
  inputs = 0;
  ended = 0;
  running = false;
  /** Calls and questions. */
  readonly open = new Set<unknown>();

  /** Of the last of them. */
  line = 0;

  /** More is to come of what has begun. */
  get isOpen(): boolean {
    return this.running || this.inputs > this.ended || this.open.size > 0;
  }

  add(event: Event, line: number): void {
    this.line = line;
    if (event.event_type === "user_event" && (event["mode"] !== "steer" || !this.running)) this.inputs++;
    if (event.event_type === "input_state") this.inputs--;
    if (isLoopDone(event)) this.ended++;
    if (event.event_type === "bb_tool_call_result") this.open.delete(event["call_id"]);
    else if (event["call_id"] !== undefined && event.event_type !== "user_event") this.open.add(event["call_id"]);
    if (event.event_type === "input_strict") this.open.add(event["id"]);
    if (event.event_type === "input_resolved") this.open.delete(event["id"]);
    if (event["loop_id"] !== undefined) this.running = !isLoopDone(event);
  }
}

/** What has begun within the recording. */
class Known {
  private readonly names = new Set<unknown>();
  /** Those of what has begun, and all that enclose them. */
  private readonly scopes = new Set<string>();

  /** Did what this event is about begin here, or does it begin with it? */
  begins(event: Event): boolean {
    const { names } = this;
    const scope = String(event["scope"]);
    const begun = this.isOfKnown(event, scope);
    if (!begun) return false;
    for (let end = scope.length; end > 0; end = scope.lastIndexOf("/", end - 1)) this.scopes.add(scope.slice(0, end));
    const { id } = event as { id?: string };
    if (id !== undefined) names.add(event.event_type === "user_event" ? `${scope} ${id}` : id);
    if (event["call_id"] !== undefined) names.add(event["call_id"]);
    const block = event["block"] as Record<string, unknown> | undefined;
    if (block?.["type"] === "tool_use") names.add(block["id"]);
    return true;
  }

  private isOfKnown(event: Event, scope: string): boolean {
    const { names } = this;
    switch (event.event_type) {
      case "bb_infer_result":
        return names.has(event["in_reply_to"]);
      case "bb_tool_call_request":
      case "tool_call":
        return event["loop_id"] === undefined || names.has(event["call_id"]);
      case "bb_tool_call_result":
        return names.has(event["call_id"]);
      case "input_strict":
        return event["call_id"] === undefined || event["approval"] !== undefined || names.has(event["call_id"]);
      case "input_resolved":
        return names.has(event["id"]);
      case "input_state":
        return names.has(`${scope} ${String(event["id"])}`);
      case "interrupt":
        return this.scopes.has(scope);
      default:
        return true;
    }
  }
}
