import assert from "node:assert/strict";
import { test } from "node:test";
import { dialectNames, dialects, type Event } from "../../src/wire/index.ts";
import {
  inferFailure,
  inferResult,
  message,
  register,
  textChunks,
  toolChunks,
  toolResult,
  World,
  type Peer,
  type WorldOptions,
} from "./world.ts";

const xml = (dialect: string) => ({ capabilities: { tools: { xml: { dialect } } } });
const call = (dialect: keyof typeof dialects, input: Record<string, unknown>, name = "read"): string =>
  dialects[dialect].call(name, input, () => ({ read: "raw" }));

interface App {
  world: World;
  infer: Peer;
  source: Peer;
  ui: Peer;
}

async function app(dialect: string, options: WorldOptions = {}): Promise<App> {
  const world = new World(options);
  const infer = await world.join("infer", {}, xml(dialect));
  const source = await world.join("toolsource");
  await source.send(register("read", "write"));
  const ui = await world.join("ui");
  await ui.send(message("go <tool_call><function_calls>"));
  return { world, infer, source, ui };
}

/** The text, in one delta a character. */
function streamed(request: Event, text: string, index = 0): Event[] {
  const of = { event_type: "infer_chunk", in_reply_to: request["id"], index };
  return [
    { ...of, kind: "block_start", block_type: "text" },
    ...Array.from(text, (delta) => ({ ...of, kind: "block_delta", block_type: "text", delta })),
    { ...of, kind: "block_stop" },
  ];
}

const request = (infer: Peer): Event => infer.last("bb_infer_request");
const said = (event: Event): string => JSON.stringify(event["messages"]);
const blocks = (ui: Peer): unknown[] =>
  ui
    .all("infer_chunk")
    .filter(({ kind }) => kind === "block_stop")
    .map(({ block }) => block);

async function finish({ infer, world }: App): Promise<void> {
  await infer.send(...textChunks(request(infer), "Done."), inferResult(request(infer)));
  await world.end();
}

test("a whole turn in each dialect: tools in the system text, the call runs, its result is text (XML-1, XML-2, XML-3)", async () => {
  for (const dialect of dialectNames) {
    const { world, infer, source, ui } = await app(dialect);
    const first = request(infer);
    assert.deepEqual([first["tools"], first["tool_choice"]], [undefined, undefined]);
    assert.match(String(first["system"]), /"name":"read".*"name":"write"/s);
    assert.doesNotMatch(said(first), new RegExp(dialects[dialect].open), "what the person wrote is no tag");
    await infer.send(...streamed(first, `Let me see.\n\n${call(dialect, { path: "a<b>" })}\n`), inferResult(first));
    assert.equal(ui.text(), "Let me see.", "no markup reaches the person");
    const sent = source.last("bb_tool_call_request");
    assert.deepEqual([sent["name"], sent["input"]], ["read", { path: "a<b>" }]);
    assert.deepEqual(blocks(ui), [
      { type: "text", text: "Let me see." },
      { type: "tool_use", name: "read", input: { path: "a<b>" }, id: sent["call_id"] },
    ]);
    let next = 0;
    for (const { n, merged = 1 } of ui.all("infer_chunk").filter(({ kind }) => kind !== "loop_done"))
      assert.equal(n, (next += Number(merged)) - 1, "n has no gap");
    await source.send(toolResult(sent, `it says ${dialects[dialect].open}`));
    const second = request(infer);
    assert.equal(second["system"], first["system"], "the same bytes every round");
    assert.match(said(second), /it says/);
    assert.equal(said(second).split(dialects[dialect].open).length, 2, "the one call");
    await finish({ world, infer, source, ui });
  }
});

test("the same blocks whether the answer comes in one delta, in many, in one block or in the result alone (XML-6)", async () => {
  const text = `Well, <\\tool_call> is ${call("hermes", { path: "a" })}`;
  const answers = [
    (to: Event) => [...textChunks(to, text), inferResult(to)],
    (to: Event) => [...streamed(to, text), inferResult(to)],
    (to: Event) => [...streamed(to, text).slice(1, -1), inferResult(to)],
    (to: Event) => [
      { event_type: "infer_chunk", in_reply_to: to["id"], kind: "block_stop", index: 3, block: { type: "text", text } },
      inferResult(to),
    ],
    (to: Event) => [{ ...inferResult(to), content: [{ type: "text", text }] }],
  ];
  for (const answer of answers) {
    const { world, infer, source, ui } = await app("hermes");
    await infer.send(...answer(request(infer)));
    const sent = source.last("bb_tool_call_request");
    assert.deepEqual(blocks(ui), [
      { type: "text", text: "Well, <tool_call> is" },
      { type: "tool_use", name: "read", input: { path: "a" }, id: sent["call_id"] },
    ]);
    await source.send(toolResult(sent, "b"));
    await finish({ world, infer, source, ui });
  }
});

test("thinking before the call is a block of its own; blocks get indexes in their order (XML-6)", async () => {
  const { world, infer, source, ui } = await app("qwen");
  const to = request(infer);
  const of = { event_type: "infer_chunk", in_reply_to: to["id"] };
  await infer.send(
    { ...of, kind: "block_delta", index: 7, block_type: "thinking", delta: "<tool_call>" },
    { ...of, kind: "block_stop", index: 7, block: { type: "thinking", thinking: "", signature: "s" } },
    { ...of, kind: "block_stop", index: 4, block: { type: "image", mime_type: "image/png", data: "" } },
    ...streamed(to, "Now ", 2).slice(0, -1),
    ...streamed(to, call("qwen", { path: "a" }), 5),
    inferResult(to),
  );
  const sent = source.last("bb_tool_call_request");
  assert.deepEqual(blocks(ui), [
    { type: "thinking", thinking: "<tool_call>", signature: "s", origin: "infer" },
    { type: "image", mime_type: "image/png", data: "" },
    { type: "text", text: "Now " },
    { type: "tool_use", name: "read", input: { path: "a" }, id: sent["call_id"] },
  ]);
  assert.deepEqual(
    ui
      .all("infer_chunk")
      .filter(({ kind }) => kind === "block_stop")
      .map(({ index }) => index),
    [0, 1, 2, 3],
  );
  await source.send(toolResult(sent, "b"));
  assert.doesNotMatch(said(request(infer)), /thinking/);
  await finish({ world, infer, source, ui });
});

test("a malformed call never runs: the model is told why, the person sees none of it (XML-7, CHK-6)", async () => {
  const whole = call("invoke", { path: "a" });
  const cases: [(to: Event) => Event[], RegExp][] = [
    [(to) => streamed(to, whole.slice(0, -1)), /not whole/],
    [(to) => streamed(to, `${whole} The file says a.`), /something follows the call/],
    [(to) => streamed(to, `${whole}\n${whole}`), /something follows the call/],
    [(to) => [...streamed(to, whole), ...streamed(to, "And so", 1)], /something follows the call/],
    [
      (to) => [
        ...streamed(to, whole),
        { event_type: "infer_chunk", in_reply_to: to["id"], kind: "block_start", index: 1, block_type: "thinking" },
        {
          event_type: "infer_chunk",
          in_reply_to: to["id"],
          kind: "block_delta",
          index: 1,
          block_type: "thinking",
          delta: "Hm",
        },
      ],
      /something follows the call/,
    ],
    [
      (to) => [
        ...streamed(to, whole),
        {
          event_type: "infer_chunk",
          in_reply_to: to["id"],
          kind: "block_stop",
          index: 1,
          block: { type: "image", mime_type: "image/png", data: "" },
        },
      ],
      /something follows the call/,
    ],
    [(to) => [...streamed(to, whole.slice(0, 40)), ...streamed(to, whole.slice(40), 1)], /not whole/],
    [(to) => streamed(to, "<function_calls>{}"), /invoke name=/],
  ];
  for (const [chunks, reason] of cases) {
    const { world, infer, source, ui } = await app("invoke");
    const to = request(infer);
    await infer.send(...chunks(to), inferResult(to));
    assert.equal(source.all("bb_tool_call_request").length, 0, String(reason));
    assert.equal(ui.text(), "");
    assert.equal(ui.last("tool_result")["status"], "error");
    const [block] = blocks(ui) as [{ input: unknown; malformed: string }];
    assert.deepEqual([blocks(ui).length, block.input], [1, null]);
    assert.ok(block.malformed.startsWith("<function_calls>"));
    assert.match(said(request(infer)), reason);
    assert.match(said(request(infer)), /did not run/);
    await finish({ world, infer, source, ui });
  }
});

test("arguments that no event may hold, or that do not fit the tool's schema, do not run (XML-3, TOL-7, FRM-7)", async () => {
  for (const [text, reason] of [
    ['<tool_call>{"name":"read","arguments":{"path":{"__proto__":1}}}</tool_call>', /__proto__.* is not allowed/],
    ['<tool_call>{"name":"read","arguments":{"path":7}}</tool_call>', /do not fit/],
    ['<tool_call>{"name":"erase","arguments":{}}</tool_call>', /no tool \\\\\\"erase\\\\\\"/],
  ] as const) {
    const all = await app("hermes");
    const to = request(all.infer);
    await all.infer.send(...textChunks(to, text), inferResult(to));
    assert.equal(all.source.all("bb_tool_call_request").length, 0);
    assert.match(said(request(all.infer)), reason);
    await finish(all);
  }
});

test("a call in a code fence is shown and does not run (XML-8)", async () => {
  const { world, infer, source, ui } = await app("hermes");
  const text = `Like so:\n\`\`\`\n${call("hermes", { path: "a" })}\n\`\`\``;
  await infer.send(...streamed(request(infer), text), inferResult(request(infer)));
  assert.equal(ui.text(), text);
  assert.equal(source.all("bb_tool_call_request").length, 0);
  await ui.send(message("and?"));
  assert.match(said(request(infer)), /<\\\\tool_call>/, "nor does it look like a call afterwards (XML-5)");
  await finish({ world, infer, source, ui });
});

test("an interrupt in mid-call keeps the text that was seen, and half a call is gone (INT-5, XML-6)", async () => {
  const { world, infer, ui } = await app("invoke");
  const to = request(infer);
  const begun = call("invoke", { path: "abc" }).split("bc")[0];
  await infer.send(...streamed(to, `Look. ${begun}`).slice(0, -1));
  const late = await world.join("ui", { name: "late" });
  const open = late.all("infer_chunk").map(({ kind, index, name, delta }) => [kind, index, name ?? delta]);
  assert.deepEqual(open, [
    ["block_start", 1, "read"],
    ["block_delta", 1, '{"path":"a'],
  ]);
  await ui.send({ event_type: "interrupt", id: "s", scope: "u" });
  await infer.send(inferFailure(to, { code: "cancelled" }));
  assert.deepEqual(blocks(ui), [{ type: "text", text: "Look." }]);
  await ui.send(message("again"));
  assert.doesNotMatch(said(request(infer)), /function_calls>\\n|"tool_use"/);
  await infer.send(inferResult(request(infer)));
  await world.end();
});

test("each attempt is read anew; the one that succeeds counts (XML-6, TRN-7)", async () => {
  const all = await app("hermes");
  const text = call("hermes", { path: "a" });
  await all.infer.send(
    ...streamed(request(all.infer), text).slice(0, -10),
    inferFailure(request(all.infer), { code: "overloaded", retryable: true }),
  );
  await all.world.pass(600);
  assert.equal(request(all.infer)["attempt"], 1);
  await all.infer.send(...streamed(request(all.infer), text), inferResult(request(all.infer)));
  assert.equal(all.source.all("bb_tool_call_request").length, 1);
  await all.source.send(toolResult(all.source.last("bb_tool_call_request"), "b"));
  await finish(all);
});

test("an infer that writes calls as text sends no tool_use block, begins no block twice, and ends none that is not open (XML-6, CHK-1)", async () => {
  const all = await app("hermes");
  const to = request(all.infer);
  const of = { event_type: "infer_chunk", in_reply_to: to["id"], index: 0 };
  const bad: Event[] = [
    ...toolChunks(to, "read", { path: "a" }),
    { ...of, kind: "block_stop", block: { type: "tool_use", name: "read", input: {} } },
    { ...of, kind: "block_stop" },
    ...textChunks(to, "a", 1),
    { ...of, index: 1, kind: "block_start", block_type: "text" },
    { ...of, index: 1, kind: "block_delta", block_type: "text", delta: "b" },
    { ...of, index: 1, kind: "block_stop", block: { type: "image", mime_type: "image/png", data: "" } },
    { ...of, index: 2, kind: "block_start", block_type: "text" },
    { ...of, index: 2, kind: "block_delta", block_type: "thinking", delta: "b" },
    { ...of, kind: "loop_done", stop_reason: "end_turn" },
  ];
  await all.infer.send(...bad);
  assert.deepEqual(
    all.infer.all("bb_error").map(({ code }) => code),
    [...Array<string>(9).fill("invalid_event"), "not_authority"],
  );
  assert.deepEqual(blocks(all.ui), [{ type: "text", text: "a" }]);
  await all.infer.send({ ...inferResult(to) });
  await all.ui.send(message("again"));
  const again = request(all.infer);
  await all.infer.send({ ...inferResult(again), content: [{ type: "tool_use", name: "read", input: {} }] });
  assert.equal(all.source.all("bb_tool_call_request").length, 0);
  assert.match(JSON.stringify(all.ui.last("infer_chunk")["error"]), /writes calls as text/);
  await all.world.end();
});

test("beyond the limit of an answer nothing more is taken, so that no call loses its middle (XML-7, CHK-1)", async () => {
  const all = await app("invoke", { limits: { answer: 200 } });
  const to = request(all.infer);
  const of = { event_type: "infer_chunk", in_reply_to: to["id"], kind: "block_delta", index: 0, block_type: "text" };
  const [before = "", after = ""] = call("invoke", { path: "@" }).split("@");
  await all.infer.send(
    { ...of, delta: before },
    { ...of, delta: "x".repeat(200) },
    { ...of, delta: after },
    inferResult(to),
  );
  assert.deepEqual(
    all.infer.all("bb_error").map(({ code }) => code),
    ["too_large"],
  );
  assert.equal(all.source.all("bb_tool_call_request").length, 0);
  assert.match(said(request(all.infer)), /not whole/);
  await all.infer.send(
    {
      event_type: "infer_chunk",
      in_reply_to: request(all.infer)["id"],
      kind: "block_stop",
      index: 0,
      block: { type: "text", text: "x".repeat(300) },
    },
    inferResult(request(all.infer)),
  );
  assert.equal(all.infer.last("bb_error")["code"], "too_large");
  await all.world.end();
});
