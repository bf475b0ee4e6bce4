import type { z } from "zod";
import type { Event } from "./codec.ts";
import { isSentDelta } from "./delta.ts";
import { BytebotError } from "./errors.ts";
import { isQuick } from "./quick.ts";
import { isKnown, schemas, type EventOf, type EventType } from "./events/index.ts";

/**
 * Checks an event against the schema of its type; unknown fields stay, unknown types without `bb_` pass (rules ENV-7, ENV-8).
 * Throws `unknown_type` for an unknown `bb_*`, `invalid_event` naming the first field that is wrong.
 */
export function validate(event: Event): void {
  if (isSentDelta(event) || isQuick(event)) return;
  const type = event.event_type;
  if (!isKnown(type)) {
    if (!type.startsWith("bb_")) return;
    throw new BytebotError("unknown_type", `"${type.slice(0, 64)}" is no event of protocol version 1`);
  }
  const result = schemas[type].safeParse(event);
  if (!result.success) throw new BytebotError("invalid_event", `${type}: ${describe(result.error)}`);
}

/** `validate`, and the event as its own type. */
export function as<Type extends EventType>(type: Type, event: Event): EventOf<Type> {
  if (event.event_type !== type) throw new BytebotError("invalid_event", `expected ${type}, got ${event.event_type}`);
  validate(event);
  return event as EventOf<Type>;
}

function describe(error: z.ZodError): string {
  const first = error.issues[0];
  if (!first) return "not of its schema";
  const { path, message } = deepest(first);
  const where = path.map(String).join(".");
  return where === "" ? message : `"${where}": ${message}`;
}

/** Of a value that may have several forms: what is wrong in the form it comes closest to. */
function deepest(issue: z.core.$ZodIssue): { path: readonly PropertyKey[]; message: string } {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.flatMap(([first]) => (first ? [deepest(first)] : []));
  const best = inner.reduce((best, each) => (each.path.length > best.path.length ? each : best), {
    path: [] as readonly PropertyKey[],
    message: issue.message,
  });
  return { path: [...issue.path, ...best.path], message: best.message };
}
