import { defaultLimits, type CoreLimits } from "../hub/index.ts";
import type { Event, WireError } from "../wire/index.ts";
import type { Recorded } from "./recording.ts";

type Limits = Pick<CoreLimits, "callsPerLoop" | "sameCalls" | "inferIdleMs" | "renderMs" | "attempts" | "maxRetryMs">;

/** Deltas and renders are not in the log, so that silence would be seen where there was none: milliseconds. */
const NEVER = 1e12;

const CALLS = /^the loop made more than (\d+) tool calls$/;
const SAME = / more than (\d+) times in a row$/s;
const SILENT = /^the infer was silent for ([\d.]+) s$/;

/** The limits that the app had set, as far as it shows in what they ended; the loop guard's are out of the way where they ended nothing. */
export function limitsOf(events: readonly Recorded[]): Limits {
  const { attempts, maxRetryMs } = defaultLimits;
  const guard = { callsPerLoop: Infinity, sameCalls: Infinity };
  const limits: Limits = { ...guard, attempts, maxRetryMs, inferIdleMs: NEVER, renderMs: NEVER };
  /** The failure of each conversation's last answer. */
  const failures = new Map<unknown, Event>();
  for (const { event } of events) {
    const { scope, kind } = event;
    const error = event["error"] as WireError | undefined;
    const message = error?.message ?? "";
    if (event.event_type === "bb_infer_result") failures.set(scope, event);
    if (event.event_type === "bb_infer_request")
      limits.attempts = Math.max(limits.attempts, Number(event["attempt"]) + 1);
    limits.inferIdleMs = toNumber(SILENT, message, limits.inferIdleMs / 1000) * 1000;
    if (kind !== "loop_done" || !error) continue;
    if (error.code === "loop_limit") {
      limits.callsPerLoop = toNumber(CALLS, message, limits.callsPerLoop);
      limits.sameCalls = toNumber(SAME, message, limits.sameCalls);
    }
    const last = failures.get(scope);
    const failure = last?.["error"] as WireError | undefined;
    // It was to be tried again, and was not: too often, or too late.
    if (failure?.retryable !== true || failure.message !== message || last?.["will_retry"] === true) continue;
    const wait = failure.retry_after_ms ?? 0;
    if (wait > 0) limits.maxRetryMs = Math.min(limits.maxRetryMs, wait - 1);
    else limits.attempts = Number(last?.["attempt"] ?? 0) + 1;
  }
  return limits;
}

function toNumber(pattern: RegExp, message: string, otherwise: number): number {
  const found = pattern.exec(message)?.[1];
  return found === undefined ? otherwise : Number(found);
}

/** Calls that the app let run at once, where one had to wait for another; else it does not matter how many. */
export function callsAtOnce(events: readonly Recorded[]): number {
  const running = new Set<unknown>();
  const asked = new Set<unknown>();
  let most = 1;
  let waited = false;
  /** What the last answer led to at once, by its scope. */
  let now: unknown;
  for (const { event } of events) {
    const { event_type, call_id, scope } = event;
    const begins = event_type === "bb_tool_call_request";
    // A person may take their time, and whoever waits for one takes no room.
    if (event_type === "input_strict") asked.add(call_id);
    const late = now !== scope && event["loop_id"] !== undefined && !asked.has(call_id);
    if (late && (begins || (event_type === "tool_call" && call_id !== undefined))) waited = true;
    if (begins) running.add(call_id);
    if (event_type === "bb_tool_call_result") running.delete(call_id);
    most = Math.max(most, running.size);
    if (event_type === "bb_infer_result") now = scope;
    else if (!begins && event_type !== "tool_call" && event["synthetic"] !== true) now = undefined;
  }
  return waited ? most : Infinity;
}
