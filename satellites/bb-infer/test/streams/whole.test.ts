import assert from "node:assert/strict";
import { test } from "node:test";
import { openRemote } from "../../src/remote/provider.ts";
import {
  answer,
  call,
  converse,
  count,
  formats,
  gemini,
  say,
  stop,
  think,
  whole,
  type Step,
} from "../formats/index.ts";
import { ask, never, outcome } from "./asking.ts";
import { breaks, drips, plays, serving } from "./server.ts";

const reply: Step[] = [
  count({ input: 12, output: 7 }),
  think("Hm: “ö” 🎈."),
  say("Zoë says "),
  say("“hi” 🎈\u2028"),
  call("add", "call_1", '{"a":', '"🎈"}'),
  stop("tool_use"),
];
const blocks = [
  ["thinking", "Hm: “ö” 🎈."],
  ["text", "Zoë says “hi” 🎈\u2028"],
  ["tool_use", { a: "🎈" }],
];

for (const format of formats) {
  // Thinking is not told apart in OpenAI's own chat completions.
  const expected = format.name.startsWith("OpenAI chat") ? blocks.slice(1) : blocks;

  test(`${format.name}: text, thinking and a call stream in order, with the stop reason and what was counted`, async (t) => {
    const server = await serving(t, plays(format, whole(format, ...reply)));
    const { reply: got, end, error } = await ask(format, server);
    assert.equal(error, undefined);
    assert.deepEqual(got.blocks.map(content), expected);
    assert.equal(end?.stop_reason, "tool_use");
    assert.deepEqual([end.usage?.input_tokens, end.usage?.output_tokens], [12, 7]);
  });

  test(`${format.name}: a stream cut at every byte gives the same blocks`, async (t) => {
    const server = await serving(t, drips(format, whole(format, ...reply)));
    const { reply: got, end } = await ask(format, server);
    assert.deepEqual(got.blocks.map(content), expected);
    assert.equal(end?.stop_reason, "tool_use");
  });

  test(`${format.name}: a body that ends or breaks off, wherever, is an error to be repeated, never half an answer`, async (t) => {
    const frames = answer(format, "Hi");
    const body = Buffer.concat(frames);
    // What says that the reply is complete is the frame with the stop reason.
    const told = Buffer.concat(format.events(say("Hi"))).length;
    let offset = 0;
    let play = plays;
    const server = await serving(t, (response) => play(format, [body.subarray(0, offset)])(response));
    const provider = await openRemote({ ...format.options(server), retry: never });
    for (offset of offsets(frames)) {
      play = offset % 2 === 0 ? plays : breaks;
      const { reply: got, end, error } = await outcome(provider);
      const where = `after ${offset} of ${body.length} bytes, of which ${told} do not say that it is complete`;
      if (error) assert.deepEqual([error.code, error.retryable], ["unavailable", true], `${where}: ${error.message}`);
      else assert.deepEqual([got.said, end?.stop_reason, offset > told], ["Hi", "end_turn", true], where);
      assert.ok("Hi".startsWith(got.said), where);
      assert.ok(
        !error || offset < body.length || format === converse || format === gemini,
        `${where}: whole, and no answer`,
      );
    }
  });

  test(`${format.name}: each way to stop has its word`, async (t) => {
    for (const reason of ["end_turn", "max_tokens", "refusal"] as const) {
      const server = await serving(t, plays(format, whole(format, say("Well"), stop(reason))));
      assert.equal((await ask(format, server)).end?.stop_reason, reason, reason);
    }
  });
}

/** Each byte around the ends of frames, and every seventh of the others. */
function offsets(frames: readonly Buffer[]): number[] {
  const ends = frames.reduce<number[]>((all, frame) => [...all, (all.at(-1) ?? 0) + frame.length], [0]);
  const all = Array.from({ length: ends.at(-1)! + 1 }, (_, offset) => offset);
  return all.filter((offset) => offset % 7 === 0 || ends.some((end) => Math.abs(end - offset) <= 2));
}

function content({ type, ...block }: { type: string; [field: string]: unknown }): unknown[] {
  return [type, block["thinking"] ?? block["text"] ?? block["input"]];
}
