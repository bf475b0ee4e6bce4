import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  formats,
  gemini,
  messages,
  responses,
  say,
  stop,
  whole,
  type Format,
  type Step,
} from "../formats/index.ts";
import { ask, called } from "./asking.ts";
import { plays, serving } from "./server.ts";

const one = { x: 1 };
const two = { y: '}{"' };
const twoText = JSON.stringify(two);

const streams: [string, ...Step[]][] = [
  ["each whole", call("add", "a", '{"x":1}'), call("now", "b", twoText)],
  ["their arguments in pieces", call("add", "a", "", '{"x"', ":1", "}"), call("now", "b", ...Array.from(twoText))],
  ["one id for both", call("add", "a", '{"x":1}'), call("now", "a", twoText)],
  ["empty ids", call("add", "", '{"x":1}'), call("now", "", twoText)],
  ["text before and between them", say("So:"), call("add", "a", '{"x":1}'), say("and"), call("now", "b", twoText)],
];

/** Nothing at all, in the ways that servers write it. */
const nothings: [string, ...string[]][] = [
  ["absent"],
  ["empty", ""],
  ["an object", "{}"],
  ["null", "null"],
  ["blank", " "],
];

for (const format of formats) {
  for (const [how, ...steps] of streams) {
    test(`${format.name}: two calls stay two, ${how} (hard case 9)`, async (t) => {
      const server = await serving(t, plays(format, whole(format, ...steps, stop("tool_use"))));
      const { reply, end, error } = await ask(format, server);
      assert.equal(error, undefined);
      assert.deepEqual(called(reply), [
        ["add", one],
        ["now", two],
      ]);
      assert.equal(end?.stop_reason, "tool_use");
    });
  }

  test(`${format.name}: one tool twice in one reply is two calls (hard case 9)`, async (t) => {
    const steps = [call("add", "a", '{"x":1}'), call("add", "b", twoText), stop("tool_use")];
    const { reply } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
    assert.deepEqual(called(reply), [
      ["add", one],
      ["add", two],
    ]);
  });

  for (const [how, ...args] of nothings) {
    test(`${format.name}: arguments that are ${how} are none (hard case 10)`, async (t) => {
      const steps = [call("now", "a", ...args), stop("tool_use")];
      const { reply, error } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
      assert.equal(error, undefined);
      assert.deepEqual(called(reply), [["now", {}]]);
    });
  }

  // Gemini's arguments come whole, as an object.
  if (format !== gemini) cut(format);
}

function cut(format: Format): void {
  test(`${format.name}: arguments cut by the token limit end as max_tokens, and the call says that it is no JSON (hard case 10)`, async (t) => {
    const steps = [call("add", "a", '{"x":', '"y'), stop("max_tokens")];
    const { reply, end } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
    assert.deepEqual([end?.stop_reason, reply.blocks[0]?.["malformed"]], ["max_tokens", '{"x":"y']);
  });

  test(`${format.name}: arguments that are no object are no arguments, and say so (hard case 10)`, async (t) => {
    for (const text of ["[1]", '"x"', "7", '{"x":1}}', '{"x":1}{"x":2}']) {
      const steps = [call("add", "a", text), stop("tool_use")];
      const { reply } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
      assert.deepEqual([reply.blocks[0]?.["input"], reply.blocks[0]?.["malformed"]], [null, text]);
    }
  });
}

// Bedrock numbers its blocks too, and is one server: AWS. Gemini's calls have no number.
for (const format of [messages, responses]) {
  test(`${format.name}: two calls that both carry index 0 stay two (hard case 9)`, async (t) => {
    const steps = [call("add", "a", '{"x"', ":1}"), call("now", "b", ...Array.from(twoText)), stop("tool_use")];
    const text = Buffer.concat(whole(format, ...steps)).toString();
    const server = await serving(t, plays(format, [Buffer.from(text.replaceAll(/index":\d+/g, 'index":0'))]));
    const { reply, error } = await ask(format, server);
    assert.equal(error, undefined);
    assert.deepEqual(called(reply), [
      ["add", one],
      ["now", two],
    ]);
  });
}
