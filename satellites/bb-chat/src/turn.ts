import type { EventOf } from "bytebot/sdk";
import { fold, settled } from "./fold.ts";
import { textOf, type Call, type Item } from "./items.ts";
import { oneLine } from "./printable.ts";
import { print, type View } from "./state.ts";
import { delivered, nextAsked, notDelivered, nothingWaits } from "./waiting.ts";

type Chunk = EventOf<"infer_chunk">;
type LoopDone = Extract<Chunk, { kind: "loop_done" }>;

export function scopeState(view: View, event: EventOf<"scope_state">): View {
  if (event.state === "idle") return nothingWaits({ ...settle(view), running: false });
  return event.loop_id !== undefined && event.loop_id === view.ended ? view : nextAsked({ ...view, running: true });
}

/** A piece of the answer, or its end. */
export function chunk(view: View, event: Chunk): View {
  if (event.kind === "loop_done") return loopDone(view, event);
  if (event.loop_id !== undefined && event.loop_id === view.ended) return view;
  const before = view.round;
  const round = fold(before, event);
  const later = before !== undefined && (round.loopId !== before.loopId || round.round > before.round);
  return { ...begin(reaches(later ? settle(view) : view, event)), round };
}

/** A later round of the loop has what was to be told to it. */
function reaches(view: View, { loop_id: loopId, round = 0 }: Chunk): View {
  const { heard } = view;
  const isLater = heard !== undefined && heard.loopId === loopId && round > heard.round;
  return { ...(isLater ? delivered(view) : view), heard: { loopId, round } };
}

/** How much of a call's arguments is shown, in characters. */
const MOST_ARGS = 200;

/** A value as JSON in short: a tool's input is whatever the model made of it. */
export function argsOf(input: unknown): string {
  return oneLine(JSON.stringify(input) ?? "", MOST_ARGS);
}

export function toolCall(view: View, event: EventOf<"tool_call">): View {
  const call: Call = { id: event.call_id, name: event.name, args: argsOf(event.input), progress: "" };
  // Without a loop it is the owner's own call: it belongs to no turn.
  const shown = event.loop_id === undefined ? view : begin(settle(view));
  return { ...shown, calls: [...shown.calls.filter(({ id }) => id !== call.id), call] };
}

export function toolProgress(view: View, event: EventOf<"tool_progress">): View {
  const percent = event.fraction === undefined ? [] : [`${Math.round(event.fraction * 100)} %`];
  const progress = [...percent, ...(event.text === undefined ? [] : [event.text])].join(" ");
  return { ...view, calls: view.calls.map((call) => (call.id === event.call_id ? { ...call, progress } : call)) };
}

export function toolResult(view: View, event: EventOf<"tool_result">): View {
  const known = view.calls.find(({ id }) => id === event.call_id);
  // Joined after the call began: its name is all that may be known of it.
  const call = known ?? { id: event.call_id, name: event.name ?? "a tool", args: "…", progress: "" };
  const rest = { ...settle(view), calls: view.calls.filter(({ id }) => id !== event.call_id) };
  return print(rest, { type: "call", call, status: event.status, result: textOf(event.content) });
}

function begin(view: View): View {
  return { ...nextAsked(view), running: true, turn: "begun" };
}

/** The round that ran is over: what it said is printed. */
export function settle(view: View): View {
  return view.round ? print({ ...view, round: undefined }, ...settled(view.round)) : view;
}

function loopDone(view: View, event: LoopDone): View {
  const open = view.calls.map((call): Item => ({ type: "call", call, status: "lost", result: "no result was seen" }));
  const over: View = {
    ...settle(view),
    calls: [],
    running: false,
    turn: "none",
    ended: event.loop_id,
    stoppedBy: undefined,
  };
  return notDelivered(print(over, ...open, ...ending(event, view.stoppedBy)));
}

/** How a loop ended, where that is not plain from the answer. */
export function ending({ stop_reason, error }: Pick<LoopDone, "stop_reason" | "error">, by?: string): Item[] {
  switch (stop_reason) {
    case "end_turn":
    case "tool_use":
      return [];
    case "interrupted":
      return [{ type: "note", text: by === undefined ? "Interrupted." : `Interrupted by ${by}.` }];
    case "max_tokens":
      return [{ type: "note", text: "The answer was cut at the model's token limit." }];
    case "refusal":
      return [{ type: "note", text: "The model declined to answer." }];
    default:
      return [{ type: "error", text: `The turn failed: ${error ? `${error.message} (${error.code})` : stop_reason}` }];
  }
}
