import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Event } from "../../src/wire/index.ts";
import { Cli, folder } from "../cli/cli.ts";
import { toolResult } from "../hub/world.ts";
import { App, everything, logOf, replayed, toFile } from "./recorded.ts";

const timeout = 120_000;
const log = await everything();
const whole = toFile(log);
const lines = whole.trimEnd().split("\n");

const unusable: [name: string, text: string, says: RegExp][] = [
  ["an empty file", "", /it has no events: record one with bytebot tail --since start/],
  ["blank lines", "\n \n\t\n", /it has no events/],
  [
    "no durable event",
    '{"event_type":"bb_live","cursor":"m:0"}\n',
    /none of its 1 events is a durable one: record with/,
  ],
  [
    "a line that is no JSON",
    `${lines[0]}\n\nnot json\n${lines[1]}\n`,
    /line 3: the line is not JSON; it starts with "not json"/,
  ],
  ["a line that is no event", `${lines[0]}\n[1]\n`, /line 2: /],
  [
    "a known event that is none",
    `${lines[0]}\n${JSON.stringify({ ...log[1], round: "one" })}\n`,
    /line 2: bb_infer_request: "round"/,
  ],
  ["no scope", `${JSON.stringify({ ...log[1], scope: undefined })}\n`, /line 1: bb_infer_request: "scope"/],
  [
    "a line over the limit",
    `${lines[0]}\n${"x".repeat(17 * 1024 * 1024)}\n`,
    /line 2 has 17825792 bytes; an event has 16777216 at most/,
  ],
  ["nesting over the limit", `${lines[0]}\n{"event_type":"user_event","x":${"[".repeat(500_000)}\n`, /line 2: /],
  ["a prototype's key", `${lines[0]}\n{"event_type":"user_event","__proto__":{}}\n`, /line 2: .*__proto__/],
  [
    "two logs in one",
    `${lines[0]}\n${lines[1]!.replace(/"cursor":"[^:]*/, '"cursor":"other')}\n`,
    /line 2 is of another log than line 1: replay each log/,
  ],
  [
    "a telemetry's copies without content",
    `${JSON.stringify({ ...log[0], text: undefined, observed: true })}\n`,
    /line 1 has no content: record it as a telemetry that is granted content/,
  ],
  ["only the end of something", `${lines.at(-1)}\n`, /nothing in it has its beginning there/],
  ["too many tools", manyTools(), /more than 1000 different tools/],
];
for (const [name, text, says] of unusable) {
  test(`${name}: exit code 2, and one sentence that says what and where`, { timeout }, async (t) => {
    const cwd = await folder(t, { "log.jsonl": text });
    const { code, err } = await new Cli(t, ["replay", "log.jsonl"], { cwd }).done;
    assert.equal(code, 2);
    assert.match(err, /^bytebot: "log\.jsonl" cannot be replayed: [^\n]+\n$/);
    assert.match(err, says);
  });
}

test("a last line that was cut is left out and named; the rest is replayed", { timeout }, async (t) => {
  const cwd = await folder(t, { "log.jsonl": whole.slice(0, -40) });
  const { code, out } = await new Cli(t, ["replay", "log.jsonl"], { cwd }).done;
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`^ {6}line ${lines.length} is cut, and left out: the recording ends before it$`, "m"));
  assert.match(out, /u_7f3a: the recording ends in the middle of a turn \(line \d+\)/);
});

test("a last line without its newline counts", { timeout }, async () => {
  const [first] = await replayed(whole.trimEnd(), "u_7f3a");
  assert.deepEqual([first!.notes, first!.found], [[], undefined]);
});

test(
  "every prefix and every suffix of a recording is replayed as far as it goes: never a difference, never a wait",
  { timeout },
  async () => {
    for (let at = 1; at < lines.length; at++)
      for (const part of [lines.slice(0, at), lines.slice(at)])
        for (const { found } of await replayed(part.join("\n")))
          assert.equal(found, undefined, `cut at ${at}: ${JSON.stringify(found)}`);
  },
);

test(
  "whatever lines are missing, twice there or out of order, an end comes, and each conversation has its answer",
  { timeout },
  async () => {
    const picked = fc.array(fc.nat({ max: lines.length - 1 }), { minLength: 1, maxLength: lines.length + 10 });
    const plain = log.map((event): Event => ({ ...event, seq: undefined, cursor: undefined }));
    await fc.assert(
      fc.asyncProperty(picked, fc.boolean(), async (places, stamped) => {
        const from = stamped ? log : plain;
        const events = places.map((place) => from[place]!);
        const all = await replayed(toFile(events));
        assert.equal(all.length, new Set(events.map(({ scope }) => scope)).size);
      }),
      { numRuns: 150 },
    );
  },
);

test(
  "where a recording begins in the middle, it says what is left out, and replays the turns that are whole",
  { timeout },
  async () => {
    const own = log.filter(({ scope }) => scope === "u_7f3a");
    const second = own.findIndex((event) => event["text"] === "tidy up");
    const from = 3;
    const [cut] = await replayed(toFile(own.slice(from)));
    assert.equal(cut!.found, undefined);
    assert.equal(cut!.events, own.length - second);
    assert.match(
      cut!.notes[0]!,
      new RegExp(`^u_7f3a: ${second - from} events up to line ${second - from} belong to what began before`),
    );
    const state = { messages: [], open: [], more: true };
    const snapshot = { event_type: "bb_snapshot", scope: "u_7f3a", state, seq: own[second - 1]!["seq"] };
    const [trimmed] = await replayed(toFile([snapshot, ...own.slice(second)]));
    assert.deepEqual([trimmed!.found, trimmed!.events], [undefined, own.length - second]);
    assert.match(
      trimmed!.notes[0]!,
      /^u_7f3a begins with a snapshot \(line 1\): what came before it is not in the file$/,
    );
  },
);

test(
  "a log that was trimmed is replayed from its first whole turn on, wherever its snapshot stands",
  { timeout },
  async () => {
    const app = await App.open({ retention: { events: 40, bytes: Infinity } });
    for (let turn = 0; turn < 20; turn++) {
      await app.say(`question ${turn}`);
      await app.say("another", { mode: turn % 2 === 0 ? "queue" : "steer" });
      const [read] = await app.call(["read", { path: "a" }]);
      await app.tools.send(toolResult(read!, "found"));
      await app.answer("Found.");
      if (turn % 2 === 0) await app.answer("And another.");
      const [first] = await replayed(toFile(await logOf(app.world)));
      assert.equal(first!.found, undefined);
      if (turn > 8) assert.match(first!.notes[0]!, /^u_7f3a begins with a snapshot \(line 1\)/);
      assert.ok(first!.events > 0);
    }
    await app.world.hub.close();
  },
);

test(
  "100,000 events are replayed in little memory: half of them one conversation, half of them 500",
  { timeout },
  async (t) => {
    const cwd = await folder(t, { "log.jsonl": turns(1, 50_000) + turns(500, 50_000) });
    const env = { NODE_OPTIONS: "--max-old-space-size=320" };
    const { code, out, err } = await new Cli(t, ["replay", "log.jsonl", "--json"], { cwd, env }).done;
    assert.deepEqual([code, err], [0, ""]);
    assert.ok(out.endsWith('{"summary":{"same":501,"different":0,"events":100000}}\n'), out.slice(-200));
  },
);

/** So many events in all, five a turn. */
function turns(scopes: number, events: number): string {
  let text = "";
  for (let turn = 0; turn < events / 5; turn++) {
    const scope = `of_${scopes}_${turn % scopes}`;
    const place = { scope, loop_id: `l_${turn}`, round: 0 };
    const block = { type: "text", text: "Done." };
    const all = [
      { event_type: "user_event", id: `m_${turn}`, type: "message", scope, text: "go" },
      { event_type: "bb_infer_request", id: `i_${turn}`, ...place, attempt: 0, stream: true },
      { event_type: "infer_chunk", kind: "block_stop", index: 0, block, ...place, attempt: 0, n: 2 },
      { event_type: "bb_infer_result", in_reply_to: `i_${turn}`, success: true, ...place, attempt: 0 },
      { event_type: "infer_chunk", kind: "loop_done", stop_reason: "end_turn", ...place },
    ];
    for (const [index, event] of all.entries()) text += `${JSON.stringify({ ...event, seq: turn * 256 + index })}\n`;
  }
  return text;
}

function manyTools(): string {
  const calls = Array.from({ length: 1001 }, (_, index) => ({
    event_type: "bb_tool_call_request",
    call_id: `c_${index}`,
    name: `tool_${index}`,
    input: {},
    scope: "u",
    seq: index,
  }));
  return toFile(calls);
}
