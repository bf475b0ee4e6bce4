import type { Event } from "../wire/index.ts";

/** Where two events first differ: a field's path, and what stands there in either. */
export interface Difference {
  path: string;
  recorded: unknown;
  replayed: unknown;
}

/**
 * Of another run: when and by whom, its place in the log, how an answer was cut into deltas, which model signed it, and what
 * comes of a tool's definition; by their path.
 */
const OTHER = new Set(
  (
    "seq cursor ts from by n merged deadline_ts expires_at component_id tool_hash block.origin approval.tool_hash " +
    "approved_by"
  ).split(" "),
);
/** Names that the Hub or a sender made up: by their path. */
const NAMES = new Set("id in_reply_to request_id call_id loop_id block.id".split(" "));
const SENT = new Set(["user_event", "interrupt"]);
const FIRST = ["event_type", "kind", "scope", "name"];

/** The names of the recording and those of the replay: one for one. */
export class Names {
  private readonly replayed = new Map<string, string>();
  private readonly recorded = new Map<string, string>();

  /** The replay's name for a recorded one, where it is known. */
  of(recorded: unknown): string | undefined {
    return this.replayed.get(String(recorded));
  }

  /** A sender's own name, which it may use again: from here on it means this. */
  begin(recorded: string, replayed: string): void {
    this.recorded.delete(this.replayed.get(recorded) ?? "");
    this.replayed.set(recorded, replayed);
    this.recorded.set(replayed, recorded);
  }

  /** Are they the same? What neither side has named before is from here on. */
  same(recorded: string, replayed: string): boolean {
    const known = this.replayed.get(recorded);
    if (known !== undefined || this.recorded.has(replayed)) return known === replayed;
    this.replayed.set(recorded, replayed);
    this.recorded.set(replayed, recorded);
    return true;
  }
}

/** The first field, by the order of what says most, that another run would not change. Undefined: they are the same. */
export function differenceOf(recorded: Event, replayed: Event, names: Names): Difference | undefined {
  if (SENT.has(recorded.event_type)) names.begin(own(recorded), own(replayed));
  const fields = new Set([...FIRST, ...Object.keys(recorded), ...Object.keys(replayed)]);
  for (const field of fields) {
    if (field === "id" && recorded.event_type === "input_state" && names.same(own(recorded), own(replayed))) continue;
    if (field === "id" && SENT.has(recorded.event_type) && typeof recorded["id"] === typeof replayed["id"]) continue;
    const found = differs(recorded[field], replayed[field], field, names);
    if (found) return found;
  }
  return undefined;
}

/** Whoever sends names an input within its scope. */
function own({ scope, id }: Event): string {
  return `${String(scope)} ${String(id)}`;
}

function differs(recorded: unknown, replayed: unknown, path: string, names: Names): Difference | undefined {
  if (OTHER.has(path)) return undefined;
  if (NAMES.has(path) && typeof recorded === "string" && typeof replayed === "string")
    return names.same(recorded, replayed) ? undefined : { path, recorded, replayed };
  if (Object.is(recorded, replayed)) return undefined;
  if (!isObject(recorded) || !isObject(replayed) || Array.isArray(recorded) !== Array.isArray(replayed))
    return { path, recorded, replayed };
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
    const found = differs(recorded[key], replayed[key], `${path}.${key}`, names);
    if (found) return found;
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
