import assert from "node:assert/strict";
import { test } from "node:test";
import { chunk } from "../formats/chat.ts";
import { compatible as format, say } from "../formats/index.ts";
import { ask, called, hello } from "./asking.ts";
import { drips, plays, serving } from "./server.ts";

interface Piece {
  index?: number | null;
  id?: string | null;
  type?: string;
  function: { name?: string | null; arguments?: string | null };
}

const add = { name: "add", arguments: '{"x":1}' };
const now = { name: "now", arguments: '{"y":2}' };

const both = [
  ["add", { x: 1 }],
  ["now", { y: 2 }],
];

/** How servers of chat completions have written two calls; each list is one delta. */
const deviations: [string, ...Piece[][]][] = [
  ["index 0 twice, each whole", [{ index: 0, id: "a", function: add }], [{ index: 0, id: "b", function: now }]],
  [
    "index 0 twice, in one delta",
    [
      { index: 0, id: "a", function: add },
      { index: 0, id: "b", function: now },
    ],
  ],
  [
    "index 0 twice, arguments after the name",
    [{ index: 0, id: "a", function: { name: "add", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"x":1}' } }],
    [{ index: 0, id: "b", function: { name: "now", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"y":2}' } }],
  ],
  ["no index", [{ id: "a", function: add }], [{ id: "b", function: now }]],
  [
    "the id on each delta",
    [{ index: 0, id: "a", function: { name: "add", arguments: '{"x"' } }],
    [{ index: 0, id: "a", function: { arguments: ":1}" } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: '{"y"' } }],
    [{ index: 1, id: "b", function: { arguments: ":2}" } }],
  ],
  [
    "the name and id on each delta",
    [{ index: 0, id: "a", function: { name: "add", arguments: "" } }],
    [{ index: 0, id: "a", function: { name: "add", arguments: '{"x"' } }],
    [{ index: 0, id: "a", function: { name: "add", arguments: ":1}" } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: "" } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: '{"y":2}' } }],
  ],
  ["one id for both", [{ index: 0, id: "a", function: add }], [{ index: 1, id: "a", function: now }]],
  ["empty ids", [{ index: 0, id: "", function: add }], [{ index: 1, id: "", function: now }]],
  ["no ids", [{ index: 0, function: add }], [{ index: 1, function: now }]],
  ["null for what is not there", [{ index: 0, id: null, function: add }], [{ index: 1, id: null, function: now }]],
  [
    "empty ids and names on what follows",
    [{ index: 0, id: "a", function: { name: "add", arguments: "" } }],
    [{ index: 0, id: "", function: { name: "", arguments: '{"x":1}' } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: "" } }],
    [{ index: 1, id: "", function: { name: "", arguments: '{"y":2}' } }],
  ],
  [
    "arguments before the name",
    [{ index: 0, id: "a", function: { arguments: '{"x"' } }],
    [{ index: 0, function: { name: "add", arguments: ":1}" } }],
    [{ index: 1, id: "b", function: now }],
  ],
  [
    "a name in two pieces",
    [{ index: 0, id: "a", function: { name: "a", arguments: "" } }],
    [{ index: 0, function: { name: "dd", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"x":1}' } }],
    [{ index: 1, id: "b", function: { name: "no" } }],
    [{ index: 1, id: "b", function: { name: "w" } }],
    [{ index: 1, function: { arguments: '{"y":2}' } }],
  ],
  [
    "a name in two pieces, the second with the arguments",
    [{ index: 0, id: "a", function: { name: "ad" } }],
    [{ index: 0, function: { name: "d", arguments: add.arguments } }],
    [{ index: 1, id: "b", function: now }],
  ],
  [
    "both names before any arguments",
    [{ index: 0, id: "a", function: { name: "add", arguments: "" } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: "" } }],
    [{ index: 0, function: { arguments: '{"x":1}' } }],
    [{ index: 1, function: { arguments: '{"y":2}' } }],
  ],
  [
    "interleaved",
    [{ index: 0, id: "a", function: { name: "add", arguments: '{"x"' } }],
    [{ index: 1, id: "b", function: { name: "now", arguments: '{"y"' } }],
    [
      { index: 0, function: { arguments: ":1}" } },
      { index: 1, function: { arguments: ":2}" } },
    ],
  ],
];

const offered = ["add", "now"].map((name) => ({ name, input_schema: { type: "object" } }));
/** A name that is whole, and might yet become that of another tool. */
const longer = [...offered, { name: "add_all", input_schema: { type: "object" } }];

for (const [how, ...deltas] of deviations) {
  test(`chat completions: two calls stay two, with an id each: ${how} (hard case 9)`, async (t) => {
    const frames = [...deltas.map((tool_calls) => chunk({ tool_calls })), chunk({}, { finish_reason: "tool_calls" })];
    const all = [...format.events(say("So. ")), ...frames, format.end];
    const crlf = all.map((frame) => Buffer.from(frame.toString().replaceAll("\n", "\r\n")));
    const empty = all.map((frame) =>
      Buffer.from(frame.toString().replace('"finish_reason":null', '"finish_reason":""')),
    );
    for (const play of [plays(format, all), drips(format, all), plays(format, crlf), plays(format, empty)]) {
      for (const tools of [offered, longer]) {
        const server = await serving(t, play);
        const { reply, end, error } = await ask(format, server, { request: { ...hello, tools } });
        assert.equal(error, undefined);
        assert.deepEqual([reply.said, called(reply)], ["So. ", both]);
        const ids = new Set(reply.blocks.flatMap(({ type, id }) => (type === "tool_use" ? [id] : [])));
        assert.ok(ids.size === 2 && !ids.has("") && !ids.has(undefined), JSON.stringify([...ids]));
        assert.equal(end?.stop_reason, "tool_use");
      }
    }
  });
}

test("chat completions: a name that begins another tool's and has no arguments is called at the end (hard case 9)", async (t) => {
  const frames = [
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "add" } }] }),
    chunk({}, { finish_reason: "tool_calls" }),
  ];
  const server = await serving(t, plays(format, [...frames, format.end]));
  const { reply } = await ask(format, server, { request: { ...hello, tools: longer } });
  assert.deepEqual(called(reply), [["add", {}]]);
});

test("chat completions: a server that ends a call with stop has called (hard case 9)", async (t) => {
  const frames = [chunk({ tool_calls: [{ index: 0, id: "a", function: add }] }), chunk({}, { finish_reason: "stop" })];
  const { end } = await ask(format, await serving(t, plays(format, [...frames, format.end])));
  assert.equal(end?.stop_reason, "tool_use");
});

test("chat completions: a call that never has a name is an error, and no phantom (hard case 9)", async (t) => {
  const frames = [
    chunk({ tool_calls: [{ index: 0, id: "a", function: { arguments: "{}" } }] }),
    chunk({}, { finish_reason: "tool_calls" }),
  ];
  const { reply, error } = await ask(format, await serving(t, plays(format, [...frames, format.end])));
  assert.deepEqual([error?.code, reply.blocks], ["unavailable", []]);
});
