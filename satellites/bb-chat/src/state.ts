import type { EventOf } from "bytebot/sdk";
import { newEditor, type Editor } from "./editor.ts";
import type { Round } from "./fold.ts";
import type { Entry, Field } from "./form.ts";
import type { Call, Item } from "./items.ts";

/** What Enter does while a turn runs. */
export type Mode = "queue" | "steer" | "replace";

/** An input that is on its way or waits: shown below the running answer until the model is told it. */
export interface Waiting {
  id: string;
  text: string;
  mine: boolean;
  /** The component that sent it; undefined: not known yet. */
  from: string | undefined;
  /** sending: not echoed yet; started: its acknowledgement came before its echo; steering: for the running turn's next round. */
  state: "sending" | "started" | "queued" | "steering";
  /** What was sent before has a lower one. */
  order: number;
}

/** A question to the person, and what was entered so far. */
export interface Asking {
  question: EventOf<"input_strict">;
  title: string;
  /** Asked one after the other; `at` is the one that is asked for now. */
  fields: readonly Field[];
  at: number;
  entries: readonly Entry[];
  /** Why the last answer was not taken. */
  problem: string;
  /** An answer is on its way. */
  answered: boolean;
}

/** Everything the screen shows, as a value. */
export interface View {
  scope: string;
  /** The component's own id: its inputs are the person's, also those of a run before this one. */
  self: string;
  /** Not printed yet; emptied once it is, so that it stays small. */
  finished: readonly Item[];
  /** How often it was emptied. */
  printed: number;
  running: boolean;
  /** none: nothing is being answered; asked: the question is on the screen; begun: so is a part of the answer. */
  turn: "none" | "asked" | "begun";
  round: Round | undefined;
  /** The loop that ended last: what still comes of it is late. */
  ended: string | undefined;
  calls: readonly Call[];
  waiting: readonly Waiting[];
  /** Told to the running turn, as far as we know. */
  delivered: readonly Waiting[];
  /** What came back undelivered: it begins the editor's text, until that is edited. */
  given: readonly Waiting[];
  /** How many inputs there were. */
  sent: number;
  /** Undefined: as the app's rules for the scope say. */
  mode: Mode | undefined;
  /** The furthest round that was heard of. */
  heard: { loopId: string | undefined; round: number } | undefined;
  /** Who else has interrupted the running turn. */
  stoppedBy: string | undefined;
  asking: readonly Asking[];
  editor: Editor;
  /** A question was answered elsewhere while an answer was being typed: the next Enter may have been meant for that. */
  unsure: boolean;
  /** The person has left, or the connection has ended: only what is finished stays on the screen. */
  left: boolean;
}

/** `banner` is the first thing on the screen; "" is none. */
export function newView(scope: string, banner = "", self = "", mode?: Mode): View {
  return {
    scope,
    self,
    finished: banner === "" ? [] : [{ type: "note", text: banner }],
    printed: 0,
    running: false,
    turn: "none",
    round: undefined,
    ended: undefined,
    calls: [],
    waiting: [],
    delivered: [],
    given: [],
    sent: 0,
    mode,
    heard: undefined,
    stoppedBy: undefined,
    asking: [],
    editor: newEditor(),
    unsure: false,
    left: false,
  };
}

export function print(view: View, ...items: Item[]): View {
  return items.length === 0 ? view : { ...view, finished: [...view.finished, ...items] };
}

/** Is there something an interrupt would stop? */
export function busy(view: View): boolean {
  return view.running || view.calls.length > 0;
}

/** What Enter does while a turn runs, in words. */
export function enterSays({ mode }: View): string {
  if (mode === undefined) return "Enter sends";
  return { queue: "Enter queues", steer: "Enter steers", replace: "Enter replaces" }[mode];
}

/** What the status line says. */
export function status(view: View): "waiting for you" | "running a tool" | "writing" | "thinking" | "idle" {
  if (view.asking.length > 0) return "waiting for you";
  if (view.calls.length > 0) return "running a tool";
  if (!view.running) return "idle";
  return [...(view.round?.blocks.values() ?? [])].some(({ type }) => type === "text") ? "writing" : "thinking";
}
