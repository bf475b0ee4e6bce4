import { BytebotError, type Event, type HistoryResultEvent, type Satellite } from "bytebot/sdk";
import { newEditor } from "./editor.ts";
import { print, type View } from "./state.ts";
import { reduce, shownTypes, type Shown } from "./view.ts";

/** The newest events that are asked for, and the items made of them that are shown. */
const EVENTS = 200;
const ITEMS = 20;
/** A log that does not answer in time keeps nobody from talking. */
const WAIT_MS = 5000;

/** What was said before this UI came. */
export interface Past {
  events: readonly Shown[];
  more: boolean;
  /** Why it cannot be shown. */
  problem?: string;
}

/** The newest part of the conversation, as the log has it. Never rejects. */
export async function past(satellite: Satellite, scope: string): Promise<Past> {
  const request = { event_type: "bb_history_request", scope, limit: EVENTS };
  try {
    const page = (await satellite.request(request, { timeoutMs: WAIT_MS })) as HistoryResultEvent;
    if (!page.success) throw page.error ? BytebotError.fromWire(page.error) : new Error("the Hub did not say why");
    return { events: (page.events ?? []).filter(isShown), more: page.more === true };
  } catch (error) {
    return { events: [], more: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The view that goes on from there: its last items are printed, and what is under way is taken up. */
export function recall(view: View, { events, more, problem }: Past): View {
  if (problem !== undefined)
    return print(view, { type: "error", text: `What was said before cannot be shown: ${problem}` });
  const now = events.reduce<View>(reduce, { ...view, finished: [] });
  if (now.finished.length === 0) return { ...now, finished: view.finished };
  const shown = now.finished.slice(-ITEMS);
  const isWhole = !more && shown.length === now.finished.length;
  const text = isWhole ? "The conversation so far:" : "The newest part of the conversation so far:";
  return print({ ...now, editor: newEditor(), given: [], finished: view.finished }, { type: "note", text }, ...shown);
}

/** Live, what the page had already: it came between joining and asking. Questions know themselves whether they are new. */
export function isKnown({ events }: Past, event: Shown): boolean {
  const newest = (events.at(-1) as Event | undefined)?.["seq"];
  const seq = (event as Event)["seq"];
  const isQuestion = event.event_type === "input_strict" || event.event_type === "input_resolved";
  return typeof newest === "number" && typeof seq === "number" && seq <= newest && !isQuestion;
}

function isShown(event: Event): event is Shown {
  return (shownTypes as readonly string[]).includes(event.event_type);
}
