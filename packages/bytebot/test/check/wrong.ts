import type { Kind } from "../../src/wire/index.ts";

/** What is wrong, the check that finds it (its rule, and the start of its title), and what the report shows of it. */
export interface Wrong {
  kind: Kind;
  wrong: string;
  rule: string;
  title: string;
  shows: RegExp;
  way: "stdio" | "serves" | "dials";
}

const table: readonly [kind: Kind, wrong: string, rule: string, title: string, shows: RegExp][] = [
  ["context", "silent", "CON-2", "Its first event", /nothing of that in 4 s/],
  ["context", "all-pretty", "CON-2", "Its first event", /6 lines that are no events: .*not JSON/],
  ["telemetry", "speaks-first", "CON-2", "Its first event", /bb_ping/],
  ["context", "other-kind", "CON-3", "bb_sync names the kind", /"kind":"telemetry"/],
  ["telemetry", "no-pong", "CON-6", "bb_ping is answered", /bb_pong with "in_reply_to"/],
  ["ui", "pong-needs-id", "CON-6", "A bb_ping without an id", /KeyError: 'id'/],
  ["context", "dies-of-unknown", "ENV-8", "Types it does not know", /exited with code 1.*bb_from_a_later_version/],
  ["ui", "dies-of-error", "ERR-2", "A bb_error", /cannot go on after bb_error/],
  ["telemetry", "stays", "CON-8", "It exits within 1 s when stdin ends", /still runs/],
  ["toolsource", "stays-while-working", "CON-8", "It exits within 1 s when stdin ends in the middle", /still runs/],
  ["context", "stays-when-refused", "CON-5", "It ends when its bb_sync is refused", /still runs/],
  ["context", "answers-any-cancel", "INT-3", "A bb_cancel of what it does not work on", /bb_context_render_result/],

  ["context", "whole-chunks", "FRM-1", "A line that comes in many pieces", /nothing of that/],
  ["telemetry", "last-of-chunk", "FRM-1", "Many lines", /nothing of that/],
  ["context", "drops-crlf", "FRM-1", "A 0x0D", /\\u000d\\u000a/],
  ["ui", "splitlines", "FRM-3", "U+2028 and U+2029, raw", /\\u2028/],
  ["context", "dies-of-blank", "FRM-4", "Empty and blank lines", /JSONDecodeError/],
  ["telemetry", "drops-last", "FRM-2", "A last line", /the end of the connection/],
  ["context", "dies-of-field", "ENV-7", "Fields it does not know", /KeyError: 'a_later_field'/],
  ["context", "shallow", "FRM-6", "An event that nests", /too much in one event/],
  ["context", "few-values", "FRM-6", "An event with 10,000", /too much in one event/],
  ["context", "small-buffer", "FRM-5", "A line of 1 MiB", /a line is too long/],
  ["context", "one-mib", "FRM-5", "A line of 16 MiB", /a line is too long/],

  ["context", "dies-of-nul", "FRM-1", "It is shown text", /a NUL/],
  ["ui", "own-escapes", "FRM-1", "The same text as", /a strange escape/],
  ["context", "mojibake", "FRM-1", "Text comes back", /"é" \(U\+E9\)\n"Ã©" \(U\+C3 U\+A9\)/],
  ["context", "composes", "FRM-1", "Text comes back", /\(U\+65 U\+301\)\n.*\(U\+E9\)/],
  ["context", "decodes-pieces", "FRM-1", "Text comes back", /U\+1F600.*\n.*U\+FFFD/],
  ["infer", "mojibake", "FRM-1", "Text comes back", /"Ã©"/],
  ["toolsource", "mojibake", "FRM-1", "Text comes back", /"Ã©"/],
  ["ui", "mojibake", "QUE-4", "Options that are not ASCII", /one of the options\n"ja w0\(Ã©/],
  ["infer", "halves", "FRM-8", "No text it sends", /half a surrogate pair/],

  ["context", "pretty", "FRM-1", "Each event it sends", /not JSON/],
  ["context", "latin-1", "FRM-1", "Each event it sends", /not UTF-8/],
  ["context", "unended", "FRM-1", "Each event it sends", /without its 0x0A/],
  ["context", "raw-separator", "FRM-3", "It writes U+2028", /one of them, raw/],
  ["infer", "raw-separator", "FRM-3", "It writes U+2028", /one of them, raw/],
  ["toolsource", "raw-separator", "FRM-3", "It writes U+2028", /one of them, raw/],
  ["context", "long-line", "FRM-5", "No line it sends", /17825\d+ bytes/],
  ["context", "deep-event", "FRM-6", "No event it sends", /nested deeper than 64/],
  ["context", "nan", "FRM-7", "Its numbers", /NaN/],
  ["context", "large-integer", "FRM-7", "Its numbers", /beyond 2\^53-1/],
  ["context", "nul", "FRM-8", "Its names", /NUL/],
  ["telemetry", "prints", "FRM-11", "Its stdout", /Starting the server/],
  ["context", "no-type", "ENV-1", "Each event has", /"event_type" is missing/],
  ["context", "bad-id", "ENV-2", "Its ids are", /"a ping"/],
  ["telemetry", "counter", "ENV-2", "Its ids do not begin again", /"p_1"/],
  ["context", "other-scope", "ENV-5", "An answer names", /"u_other"/],
  ["telemetry", "bad-field", "ENV-7", "Each event it sends", /bb_error: "code"/],
  ["toolsource", "bad-fraction", "ENV-7", "Each event it sends", /bb_tool_progress: "fraction"/],
  ["ui", "unknown-type", "ENV-8", "A bb_ type", /bb_hello/],
  ["ui", "vendor-without-scope", "ENV-8", "A bb_ type", /without a scope/],
  ["context", "no-error", "ENV-10", 'Its "success": false', /without an error/],
  ["infer", "forbidden-type", "KND-1", "It sends only", /bb_attach from a infer/],
  ["toolsource", "hub-type", "KND-2", "It sends nothing", /tool_call/],
  ["context", "sync-twice", "CON-5", "It sends bb_sync once", /a second bb_sync/],

  ["context", "no-answer", "TRN-3", "It answers a render", /bb_context_render_request/],
  ["context", "twice", "ENV-4", "Each request gets one answer", /2 to r_/],
  ["context", "leaks", "SCP-9", "What was said in one scope", /kanarie/],
  ["context", "silent-cancel", "INT-3", "After bb_cancel", /bb_cancel/],
  ["context", "own-tools", "TRN-2", "The tools it names", /"check_note"/],
  ["context", "dies-of-blocks", "TRN-2", "It renders a conversation", /TypeError: an image/],

  ["infer", "no-answer", "TRN-4", "It answers a request", /bb_infer_request/],
  ["infer", "twice", "ENV-4", "Each request gets one answer", /2 to i_/],
  ["infer", "leaks", "SCP-9", "What was said in one scope", /kanarie/],
  ["infer", "silent-cancel", "INT-3", "After bb_cancel", /bb_cancel/],
  ["infer", "chunk-without-reply", "TRN-4", "Each chunk names", /without in_reply_to/],
  ["infer", "chunk-after-result", "TRN-4", "Each chunk names", /P\.S\./],
  ["infer", "starts-twice", "CHK-1", "Its chunks fit", /block 0 was started already/],
  ["infer", "loop-done", "CHK-4", "It never sends loop_done", /loop_done/],
  ["infer", "other-block", "CHK-6", "The block of a block_stop", /"else"/],
  ["infer", "other-content", "CHK-6", "The block of a block_stop", /"else"/],
  ["infer", "bad-arguments", "CHK-6", "The arguments", /milk and eggs/],
  ["infer", "unknown-tool", "TRN-5", "It calls only", /a call of "rm"/],
  ["infer", "stop-reason", "TRN-10", "Its stop_reason", /"interrupted"/],
  ["infer", "dies-of-blocks", "TRN-4", "It answers a conversation", /TypeError: an image/],

  ["toolsource", "no-register", "CON-11", "It registers", /bb_tool_register/],
  ["toolsource", "same-name", "TOL-1", "Its tools have names", /"count" and "count"/],
  ["toolsource", "bad-schema", "TOL-1", "Its tools have names", /"forget"/],
  ["toolsource", "no-answer", "TOL-5", "It answers a call", /"name":"count"/],
  ["toolsource", "unknown-succeeds", "TOL-5", "A call of a tool", /"success":true/],
  ["toolsource", "dies-of-arguments", "TOL-7", "Arguments", /KeyError: 'text'/],
  ["toolsource", "one-id", "ENV-4", "Each request gets one answer", /bb_tool_call_result/],
  ["toolsource", "silent-cancel", "INT-3", "After bb_cancel", /bb_cancel/],
  ["toolsource", "late-progress", "TOL-9", "Its progress", /after its result/],
  ["toolsource", "asks-outside", "QUE-1", "It asks the person", /"c_0"/],
  ["toolsource", "turn-elsewhere", "TRN-12", "It asks for child turns", /u_elsewhere/],

  ["ui", "dies-of-calls", "TRN-6", "It shows a whole turn", /what is a tool/],
  ["ui", "dies-of-chunk-kind", "ENV-9", "Kinds, types and states", /KeyError: 'block_note'/],
  ["ui", "dies-of-late-join", "CHK-5", "It may join", /KeyError/],
  ["ui", "dies-of-flood", "CHK-3", "It lives through", /so many words/],
  ["ui", "other-outcome", "QUE-3", "Where it answers", /"maybe"/],
  ["ui", "replies-twice", "QUE-3", "Where it answers", /one reply/],
  ["ui", "other-value", "QUE-4", "The value", /"perhaps"/],
  ["ui", "says-nothing", "INP-1", "What the person says", /neither/],

  ["telemetry", "answers-copies", "KND-4", "A copy", /bb_pong/],
  ["telemetry", "leaves-with-others", "KND-4", "A copy", /bb_bye/],
  ["telemetry", "dies-of-flood", "CON-9", "It lives through a flood", /so much happens/],
];

/** Satellites on stdio, wrong in one way each. */
export const wrongOverStdio: readonly Wrong[] = table.map(([kind, wrong, rule, title, shows]) => ({
  kind,
  wrong,
  rule,
  title,
  shows,
  way: "stdio",
}));
