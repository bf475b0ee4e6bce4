import type { Event, Kind } from "../wire/index.ts";
import { newId } from "./work.ts";

/** One turn as a UI of this scope sees it: spec/transcripts/one-turn.jsonl, as stamped by a Hub, with thinking and a retry. */
export function turnAsSeen(scope: string, said = "ship it"): Event[] {
  const loop_id = newId("l");
  const call_id = newId("c");
  const ts = Date.now();
  let seq = 256;
  const durable = (): object => ({ seq: (seq += 256), cursor: `check:${seq / 256}.0`, ts });
  const place = { scope, loop_id };
  let n = 0;
  const chunk = (kind: string, round: number, fields: object): Event => ({
    event_type: "infer_chunk",
    kind,
    ...fields,
    ...place,
    round,
    attempt: 1,
    n: n++,
    ts,
  });
  const called = { ...place, call_id, name: "create-user-file" };
  const block = { type: "tool_use", id: call_id, name: "create-user-file", input: { path: "a.txt" }, alias: "toolu_1" };
  const tool = { index: 1, block_type: "tool_use" };
  const text = { index: 0, block_type: "text" };
  const done = said === "ship it" ? "Done. " : said;
  return [
    { event_type: "user_event", id: newId("m"), type: "message", scope, text: said, from: "web", ...durable() },
    { event_type: "scope_state", state: "running", ...place, ts },
    // A first attempt that failed: the second voids it.
    { ...chunk("block_delta", 0, { index: 0, block_type: "thinking", delta: "Hm" }), attempt: 0 },
    chunk("block_start", 0, { index: 0, block_type: "thinking" }),
    chunk("block_delta", 0, { index: 0, block_type: "thinking", delta: "A file, then." }),
    { ...chunk("block_stop", 0, { index: 0, block: { type: "thinking", thinking: "A file, then." } }), ...durable() },
    chunk("block_start", 0, { ...tool, name: "create-user-file" }),
    chunk("block_delta", 0, { ...tool, delta: '{"path":' }),
    chunk("block_delta", 0, { ...tool, delta: '"a.txt"}' }),
    { ...chunk("block_stop", 0, { index: 1, block }), ...durable() },
    { event_type: "tool_call", ...called, input: { path: "a.txt" }, ...durable() },
    { event_type: "tool_progress", scope, call_id, text: "writing", fraction: 0.5, ts },
    {
      event_type: "tool_result",
      ...called,
      success: true,
      status: "ok",
      content: [{ type: "text", text: "12 bytes written" }],
      ...durable(),
    },
    // A text block may begin with its first delta.
    chunk("block_delta", 1, { ...text, delta: done }),
    { ...chunk("block_stop", 1, { index: 0, block: { type: "text", text: done } }), ...durable() },
    { event_type: "infer_chunk", kind: "loop_done", ...place, round: 1, stop_reason: "end_turn", ...durable() },
    { event_type: "scope_state", state: "idle", ...place, stop_reason: "end_turn", ts },
  ];
}

/** A question to the person, of the Hub's. */
export function question(scope: string): Event & { id: string; options: string[] } {
  return {
    event_type: "input_strict",
    id: newId("q"),
    scope,
    prompt: "Overwrite a.txt?",
    options: ["yes", "no"],
    expires_at: Date.now() + 300_000,
    primary: true,
    seq: 8192,
    cursor: "check:32.0",
    ts: Date.now(),
  };
}

/** What a telemetry gets: copies of what passes between others, each marked. None of it is meant for whoever reads it. */
export function copies(scope: string, said?: string): Event[] {
  const id = newId("r");
  const sync = (kind: Kind): Event => ({ event_type: "bb_sync", kind, from: kind });
  const events: Event[] = [
    sync("context"),
    sync("infer"),
    ...turnAsSeen(scope, said),
    { event_type: "bb_context_render_request", id, scope, loop_id: newId("l"), round: 0, history_whole: true },
    { event_type: "bb_context_render_result", in_reply_to: id, scope, success: true },
    { event_type: "bb_infer_request", id: newId("i"), scope, loop_id: newId("l"), round: 0, attempt: 0, stream: true },
    { event_type: "bb_tool_call_request", call_id: newId("c"), scope, name: "create-user-file" },
    {
      event_type: "bb_tool_call_result",
      call_id: newId("c"),
      scope,
      success: false,
      error: { code: "internal", retryable: false },
    },
    { event_type: "bb_cancel", target: id, scope },
    { event_type: "input_strict", id: newId("q"), scope },
    { event_type: "bb_ping", id: newId("p") },
    { event_type: "com.example/typing", scope },
    { event_type: "bb_bye", from: "infer" },
  ];
  return events.map((event) => ({ ...event, observed: true, ts: Date.now() }));
}
