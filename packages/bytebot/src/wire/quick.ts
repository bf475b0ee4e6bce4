import type { Event } from "./codec.ts";
import { ID } from "./envelope.ts";
import { fates } from "./events/connection.ts";
import { modes } from "./events/input.ts";
import { callStatuses } from "./events/tool.ts";
import { stopReasons } from "./events/turn.ts";
import { MAX_BLOCK_INDEX } from "./limits.ts";
import { isPrincipal } from "./principal.ts";
import { isScope } from "./scope.ts";

/*
 * The events of a turn and of a call, and what says that they came, checked by hand: their schemas take many times as long as the rest of a call.
 * True says valid; false says only that the schema has to look. Property-tested against the schemas.
 */
type Check = (value: unknown) => boolean;
interface Shape {
  needs: readonly string[];
  /** Of the fields that the schema knows; any other is free. */
  fields: Readonly<Record<string, Check>>;
}

const isText: Check = (value) => typeof value === "string";
const isShort: Check = (value) => typeof value === "string" && value.length <= 256;
const isId: Check = (value) => typeof value === "string" && ID.test(value);
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isFlag: Check = (value) => typeof value === "boolean";
const anything: Check = () => true;
const never: Check = () => false;
const isPlainText: Check = (value) => {
  const { type, text } = (value ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string";
};
/** A block that an infer writes. */
const isWritten: Check = (value) => {
  const { type, thinking, signature, name, input, id, alias } = (value ?? {}) as Record<string, unknown>;
  if (type === "thinking") return isText(thinking) && (signature === undefined || isText(signature));
  if (type !== "tool_use") return isPlainText(value);
  return isText(name) && input !== undefined && (id === undefined || isText(id)) && alias === undefined;
};
const isContent: Check = (value) => Array.isArray(value) && value.every(isPlainText);
const isError: Check = (value) => {
  if (typeof value !== "object" || value === null) return false;
  const { code, message, retryable, retry_after_ms } = value as Record<string, unknown>;
  return isText(code) && isText(message) && isFlag(retryable) && retry_after_ms === undefined;
};
const isOneOf = (...values: readonly string[]): Check => {
  const known = new Set<unknown>(values);
  return (value) => known.has(value);
};

const isUsage: Check = (value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((count) => isNumber(count) && count >= 0);
};

const envelope: Record<string, Check> = {
  event_type: isText,
  id: isId,
  in_reply_to: isId,
  scope: (value) => isScope(value),
  seq: isCount,
  cursor: isShort,
  ts: isNumber,
  from: isShort,
  observed: isFlag,
  _meta: never,
};

const shape = (needs: string, fields: Record<string, Check>): Shape => ({
  needs: needs.split(" "),
  fields: Object.assign(Object.create(null) as Record<string, Check>, envelope, fields),
});

const shapes: Record<string, Shape> = Object.assign(Object.create(null) as Record<string, Shape>, {
  bb_tool_call_request: shape("name input scope", {
    call_id: isId,
    name: isText,
    input: anything,
    loop_id: isId,
    deadline_ts: isNumber,
    principal: isPrincipal,
    approved_by: isPrincipal,
  }),
  bb_tool_call_result: shape("success", {
    call_id: isId,
    success: isFlag,
    status: isOneOf(...callStatuses),
    content: isContent,
    error: isError,
    synthetic: isFlag,
  }),
  user_event: shape("type scope", {
    type: (value) => typeof value === "string" && value.length > 0 && value.length <= 64,
    text: isText,
    content: isContent,
    mode: isOneOf(...modes),
    principal: isPrincipal,
  }),
  bb_ack: shape("event_type", { fate: isOneOf(...fates) }),
  bb_infer_result: shape("in_reply_to success", {
    success: isFlag,
    loop_id: isId,
    stop_reason: isOneOf(...stopReasons),
    content: never,
    usage: isUsage,
    error: isError,
  }),
});

const place = { loop_id: isId, round: isCount, attempt: isCount, n: isCount, merged: never };
const index: Check = (value) => isCount(value) && (value as number) <= MAX_BLOCK_INDEX;
const block_type = isOneOf("text", "thinking", "tool_use");
const start = shape("index block_type", { ...place, index, block_type, name: isText });
const stop = shape("index", { ...place, index, block: isWritten });

function shapeOf(event: Event): Shape | undefined {
  if (event.event_type !== "infer_chunk") return shapes[event.event_type];
  return event["kind"] === "block_start" ? start : event["kind"] === "block_stop" ? stop : undefined;
}

/** Is it valid, as far as that can be said without its schema? */
export function isQuick(event: Event): boolean {
  const known = shapeOf(event);
  if (!known) return false;
  for (const field of known.needs) if (event[field] === undefined) return false;
  for (const field in event) {
    const check = known.fields[field];
    if (check && !check(event[field])) return false;
  }
  return true;
}
