/** Events as the Hub shows them, and what the view makes of them. */
import type { Item } from "../src/items.ts";
import { newView, type View } from "../src/state.ts";
import { reduce, type Act, type Shown } from "../src/view.ts";

export const view = (...events: (Shown | Act)[]) => plus(newView("local"), ...events);
export const plus = (start: View, ...events: (Shown | Act)[]) => events.reduce(reduce, start);
export const lines = ({ finished }: View) => finished.map(line);
export const live = ({ round }: View) =>
  [...(round?.blocks.values() ?? [])].map(({ type, text }) => `${type}: ${text}`);

export function line(item: Item): string {
  if (item.type === "user") return `${item.mine ? "me" : (item.from ?? "other")}: ${item.text}`;
  if (item.type === "call") return `${item.call.name} → ${item.status}: ${item.result}`;
  return `${item.type}: ${item.text}`;
}

export const scope = "local";
export const place = (at: object) =>
  ({ event_type: "infer_chunk", scope, loop_id: "l1", round: 0, attempt: 0, index: 0, ...at }) as const;
export const start = (at = {}) => ({ ...place(at), kind: "block_start", block_type: "text", ...at }) as Shown;
export const delta = (text: string, at = {}) =>
  ({ ...place(at), kind: "block_delta", block_type: "text", delta: text, ...at }) as Shown;
export const stop = (text: string, at = {}) =>
  ({ ...place(at), kind: "block_stop", block: { type: "text", text }, ...at }) as Shown;
export const done = (at = {}): Shown => ({
  event_type: "infer_chunk",
  scope,
  kind: "loop_done",
  loop_id: "l1",
  stop_reason: "end_turn",
  ...at,
});
export const state = (value: "running" | "idle", loop?: string): Shown => ({
  event_type: "scope_state",
  scope,
  state: value,
  ...(loop === undefined ? {} : { loop_id: loop }),
});
export const call = (id: string, at = {}): Shown => ({
  event_type: "tool_call",
  scope,
  loop_id: "l1",
  call_id: id,
  name: id,
  input: { a: 1 },
  ...at,
});
export const result = (id: string, status: "ok" | "denied" = "ok"): Shown => ({
  event_type: "tool_result",
  scope,
  call_id: id,
  success: status === "ok",
  status,
  content: [{ type: "text", text: `of ${id}` }],
});
export const echo = (id: string, text: string): Shown => ({
  event_type: "user_event",
  type: "message",
  scope,
  id,
  text,
});
export const from = (who: string, id: string, text: string, more: object = {}): Shown => ({
  ...echo(id, text),
  from: who,
  ...more,
});
export const send = (id: string, text: string): Act => ({ act: "send", id, text });
export const fate = (id: string, name: string): Act => ({ act: "fate", id, fate: name });
export const returned = (id: string): Shown => ({ event_type: "input_state", scope, id, fate: "returned" });

export function question(id: string, at: object = {}): Shown {
  return { event_type: "input_strict", scope, id, prompt: `prompt of ${id}`, ...at };
}
