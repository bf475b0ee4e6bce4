import type { EventOf } from "bytebot/sdk";
import { withText } from "./editor.ts";
import { textOf } from "./items.ts";
import { print, type View, type Waiting } from "./state.ts";

/** Sent from here: nobody has seen it yet. */
export function sending(view: View, id: string, text: string): View {
  const input: Waiting = { id, text, mine: true, from: undefined, state: "sending", order: view.sent };
  return { ...view, sent: view.sent + 1, waiting: [...view.waiting, input] };
}

/** The Hub's echo of an input, ours (known by its id or its sender) or another UI's: the order of the echoes is the order. */
export function arrived(view: View, event: EventOf<"user_event">): View {
  const known = view.waiting.find(({ id }) => id === event.id);
  const others = view.waiting.filter((other) => other !== known);
  const { id = "", mode } = event;
  // Whoever joined in mid-turn may have seen nothing of it but that it runs.
  const running = view.turn !== "none" || view.running;
  const state = running && (known?.state === "steering" || mode === "steer") ? "steering" : "queued";
  const from = typeof event["from"] === "string" ? event["from"] : undefined;
  const text = event.text ?? textOf(event.content);
  const fresh = { id, text, mine: from === view.self && from !== undefined, from, order: view.sent };
  const input: Waiting = { ...(known ?? fresh), state };
  const free = !running && !others.some(isHere);
  // What replaces the running turn comes before all that waits (rule INP-3).
  const first = running && mode === "replace";
  const next = { ...view, sent: view.sent + 1, waiting: first ? [input, ...others] : [...others, input] };
  return free || known?.state === "started" ? begun(next, input) : next;
}

/** What the Hub answered to an input of ours. */
export function fate(view: View, id: string, name: string | undefined): View {
  const input = view.waiting.find((waiting) => waiting.id === id);
  if (!input) return view;
  if (name === "refused") return returned(view, id, "was refused, because the conversation is busy");
  if (name === "started" && isHere(input)) return begun(view, input);
  if (name === "started") return changed(view, input, "started");
  if (name === "steering") return changed(view, input, "steering");
  return name === "queued" && input.state === "steering" ? changed(view, input, "queued") : view;
}

/** An input that will not be answered; its sender gets it back, before what is being written, in the order they were sent in. */
export function returned(view: View, id: string, why: string): View {
  const input = [...view.waiting, ...view.delivered].find((waiting) => waiting.id === id);
  if (!input) return view;
  const without = (list: readonly Waiting[]) => list.filter((other) => other !== input);
  const rest = { ...view, waiting: without(view.waiting), delivered: without(view.delivered) };
  if (!input.mine) return rest;
  const before = joined(view.given);
  const draft = view.given.length === 0 ? view.editor.text : view.editor.text.slice(before.length + 1);
  const given = [...view.given, input].sort((a, b) => a.order - b.order);
  const text = joined(given);
  const editor = withText(rest.editor, draft === "" ? text : `${text}\n${draft}`);
  return print({ ...rest, editor, given }, { type: "error", text: `Your message ${why}.` });
}

/** The next round has begun: the model has been told what was to reach it there. */
export function delivered(view: View): View {
  const steering = view.waiting.filter(({ state }) => state === "steering");
  if (steering.length === 0) return view;
  const waiting = view.waiting.filter(({ state }) => state !== "steering");
  // Whether it came in time for that round is not told: an interrupt may still return it.
  const now = { ...view, waiting, delivered: [...view.delivered, ...steering] };
  return print(now, ...steering.map(said));
}

/** The loop is over: what was to reach it, and did not, comes next. */
export function notDelivered(view: View): View {
  const [steering, others] = [true, false].map((is) =>
    view.waiting.filter(({ state }) => (state === "steering") === is),
  );
  const next = steering!.map((input): Waiting => ({ ...input, state: "queued" }));
  return { ...view, waiting: [...next, ...others!], delivered: [] };
}

/** The turn that begins now answers what has waited longest. */
export function nextAsked(view: View): View {
  const next = view.turn === "none" ? view.waiting.find(isHere) : undefined;
  return next ? begun(view, next) : view;
}

/** An idle conversation has an empty queue: what still waits here was taken up in a way that was not told. */
export function nothingWaits(view: View): View {
  const empty = view.waiting.filter(isHere).reduce(begun, view);
  return { ...empty, turn: "none" };
}

/** The Hub has shown it. */
function isHere({ state }: Waiting): boolean {
  return state !== "sending" && state !== "started";
}

function changed(view: View, input: Waiting, state: Waiting["state"]): View {
  return { ...view, waiting: view.waiting.map((other) => (other === input ? { ...input, state } : other)) };
}

function begun(view: View, input: Waiting): View {
  const waiting = view.waiting.filter((other) => other !== input);
  return print({ ...view, waiting, turn: "asked" }, said(input));
}

function said({ text, mine, from }: Waiting) {
  return { type: "user" as const, text, mine, from };
}

function joined(inputs: readonly Waiting[]): string {
  return inputs.map(({ text }) => text).join("\n");
}
