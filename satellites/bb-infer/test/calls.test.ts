import assert from "node:assert/strict";
import { test } from "node:test";
import { infer, playing } from "./asking.ts";
import { begin, delta } from "./scripted-server.ts";

interface Part {
  index?: number;
  id?: string;
  function: { name?: string; arguments?: string };
}

/** Each list is one delta of the stream. */
const streams: [string, ...Part[][]][] = [
  [
    "index 0 twice, each whole",
    [{ index: 0, id: "a", function: { name: "one", arguments: '{"x":1}' } }],
    [{ index: 0, id: "b", function: { name: "two", arguments: '{"y":2}' } }],
  ],
  [
    "index 0 twice, in one delta",
    [
      { index: 0, id: "a", function: { name: "one", arguments: '{"x":1}' } },
      { index: 0, id: "b", function: { name: "two", arguments: '{"y":2}' } },
    ],
  ],
  [
    "index 0 twice, arguments after the name",
    [{ index: 0, id: "a", function: { name: "one", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"x":1}' } }],
    [{ index: 0, id: "b", function: { name: "two", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"y":2}' } }],
  ],
  [
    "no index",
    [{ id: "a", function: { name: "one", arguments: '{"x":1}' } }],
    [{ id: "b", function: { name: "two", arguments: '{"y":2}' } }],
  ],
  [
    "the id on each delta",
    [{ index: 0, id: "a", function: { name: "one", arguments: '{"x"' } }],
    [{ index: 0, id: "a", function: { arguments: ":1}" } }],
    [{ index: 1, id: "b", function: { name: "two", arguments: '{"y"' } }],
    [{ index: 1, id: "b", function: { arguments: ":2}" } }],
  ],
  [
    "one id for both",
    [{ index: 0, id: "a", function: { name: "one", arguments: '{"x":1}' } }],
    [{ index: 1, id: "a", function: { name: "two", arguments: '{"y":2}' } }],
  ],
  [
    "empty ids",
    [{ index: 0, id: "", function: { name: "one", arguments: '{"x":1}' } }],
    [{ index: 1, id: "", function: { name: "two", arguments: '{"y":2}' } }],
  ],
  [
    "no ids",
    [{ index: 0, function: { name: "one", arguments: '{"x":1}' } }],
    [{ index: 1, function: { name: "two", arguments: '{"y":2}' } }],
  ],
  [
    "arguments before the name",
    [{ index: 0, id: "a", function: { arguments: '{"x"' } }],
    [{ index: 0, function: { name: "one", arguments: ":1}" } }],
    [{ index: 1, id: "b", function: { name: "two", arguments: '{"y":2}' } }],
  ],
];

for (const [how, ...deltas] of streams) {
  test(`two calls stay two, with an id each: ${how}`, async (t) => {
    const server = await playing(t, (response) => {
      begin(response);
      for (const tool_calls of deltas) response.write(delta({ tool_calls }));
      response.end(delta({}, "tool_calls"));
    });
    const { reply, end } = await infer(server);
    const called = reply.blocks.map(({ name, input }) => [name, input]);
    assert.deepEqual(called, [
      ["one", { x: 1 }],
      ["two", { y: 2 }],
    ]);
    const ids = new Set(reply.blocks.map(({ id }) => id));
    assert.ok(ids.size === 2 && !ids.has("") && !ids.has(undefined), JSON.stringify([...ids]));
    assert.equal(end?.stop_reason, "tool_use");
  });
}

test("arguments cut by the token limit end as max_tokens, and the call says that it is no JSON", async (t) => {
  const server = await playing(t, (response) => {
    begin(response);
    response.write(delta({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: '{"x":' } }] }));
    response.end(delta({}, "length"));
  });
  const { reply, end } = await infer(server);
  assert.deepEqual([end?.stop_reason, reply.blocks[0]?.["malformed"]], ["max_tokens", '{"x":']);
});
