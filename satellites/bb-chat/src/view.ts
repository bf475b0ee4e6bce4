import { encloses, type EventOf } from "bytebot/sdk";
import { sent, type Editor } from "./editor.ts";
import { ask, enter, resolved } from "./question.ts";
import { busy, print, type Asking, type Mode, type View } from "./state.ts";
import { chunk, scopeState, settle, toolCall, toolProgress, toolResult } from "./turn.ts";
import { arrived, fate, returned, sending } from "./waiting.ts";

/** The events that change the screen. */
export const shownTypes = [
  "user_event",
  "interrupt",
  "infer_chunk",
  "tool_call",
  "tool_progress",
  "tool_result",
  "input_strict",
  "input_resolved",
  "input_state",
  "scope_state",
] as const;
export type Shown = { [Type in (typeof shownTypes)[number]]: EventOf<Type> }[(typeof shownTypes)[number]];

/** What happens on this side of the wire. */
export type Act =
  | { act: "note" | "error"; text: string }
  | { act: "edit"; editor: Editor }
  | { act: "mode"; mode: Mode }
  | { act: "sure" }
  /** Sent under this id; then its `fate`, or `failed` where the Hub did not take it. */
  | { act: "send"; id: string; text: string }
  | { act: "fate"; id: string; fate: string | undefined }
  | { act: "failed"; id: string; reason: string }
  | { act: "enter"; id: string; change: Partial<Asking> }
  | { act: "printed" }
  | { act: "leave" };

/** The view after one event of the wire, or one act of the person. Of child conversations only the questions are shown. */
export function reduce(view: View, event: Shown | Act): View {
  // An event of the wire may carry any field, "act" too: only its event_type tells.
  if (!("event_type" in event)) return acted(view, event);
  if (event.event_type === "input_strict") return ask(view, event);
  if (event.event_type === "input_resolved") return resolved(view, event);
  if (event.event_type === "interrupt") return interrupted(view, event);
  if (event.scope !== view.scope) return view;
  switch (event.event_type) {
    case "user_event":
      return arrived(view, event);
    case "input_state":
      return event.fate === "returned" ? returned(view, event.id, "was not delivered") : view;
    case "scope_state":
      return scopeState(view, event);
    case "infer_chunk":
      return chunk(view, event);
    case "tool_call":
      return toolCall(view, event);
    case "tool_progress":
      return toolProgress(view, event);
    case "tool_result":
      return toolResult(view, event);
  }
}

/** By another screen, or the app: whose doing it was is told at the turn's end. */
function interrupted(view: View, event: EventOf<"interrupt">): View {
  const { from: by, reached } = event as { from?: unknown; reached?: unknown };
  // The record of one that reached several cells stops nothing, and may come when the next turn runs (rule INT-6).
  if (reached !== undefined) return view;
  const isOther = typeof by === "string" && by !== view.self && encloses(event.scope, view.scope) && busy(view);
  return isOther ? { ...view, stoppedBy: by } : view;
}

function acted(view: View, event: Act): View {
  switch (event.act) {
    case "note":
    case "error":
      return print(view, { type: event.act, text: event.text });
    case "edit":
      return { ...view, editor: event.editor, given: [] };
    case "sure":
      return { ...view, unsure: false };
    case "mode":
      return { ...view, mode: event.mode };
    case "send":
      return sending({ ...view, editor: sent(view.editor), given: [] }, event.id, event.text);
    case "fate":
      return fate(view, event.id, event.fate);
    case "failed":
      return returned(view, event.id, `was not sent (${event.reason})`);
    case "enter":
      return enter(view, event.id, event.change);
    case "printed":
      return view.finished.length === 0 ? view : { ...view, finished: [], printed: view.printed + 1 };
    case "leave":
      return { ...settle(view), left: true };
  }
}
