import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, Chat, done, type Wire } from "./harness.ts";

const at = { event_type: "infer_chunk", loop_id: "l1", round: 0, attempt: 0, index: 0 };
const delta = (delta: string, place: object = {}): Wire => ({
  ...at,
  kind: "block_delta",
  block_type: "text",
  delta,
  ...place,
});
const call = (id: string, text: string): Wire[] => [
  { event_type: "tool_call", loop_id: "l1", call_id: id, name: "clock", input: { zone: "UTC" } },
  {
    event_type: "tool_result",
    call_id: id,
    name: "clock",
    success: true,
    status: "ok",
    content: [{ type: "text", text }],
  },
];

test("one question in, one answer out as it comes; the calls and the banner are on stderr", async (t) => {
  const chat = new Chat(t, { opts: { once: "what time is it?", banner: "scripted demo: no model" } });
  const input = await chat.takes("l1");
  assert.equal(input["text"] ?? input["content"], "what time is it?");
  chat.send(delta("Let me "));
  await chat.until(() => chat.output === "Let me ", "the first piece before the rest");
  chat.send(
    delta("look."),
    ...call("c1", "noon\nUTC"),
    ...answer("l1", "It is noon \u001b[31m日本語.").map((event) => ({ ...event, round: 1 })),
  );
  assert.equal((await chat.exit()).code, 0);
  assert.equal(chat.output, "Let me look.\nIt is noon \\u001b[31m日本語.\n");
  assert.equal(chat.stderr, 'scripted demo: no model\nclock({"zone":"UTC"}) → ok: noon UTC\n');
});

test("what was not streamed is added from the whole block, and what was streamed is not said twice", async (t) => {
  const chat = new Chat(t, { opts: { once: "x" } });
  await chat.takes("l1");
  const stop = (index: number, text: string) => ({ ...at, index, kind: "block_stop", block: { type: "text", text } });
  chat.send(delta("one"), stop(0, "one two"), stop(1, "three"), ...done("l1"));
  await chat.exit();
  assert.equal(chat.output, "one two\nthree\n");
});

test("an answer that is begun again is marked, as what was written cannot be taken back", async (t) => {
  const chat = new Chat(t, { opts: { once: "x" } });
  await chat.takes("l1");
  chat.send(delta("wro"), delta("right", { attempt: 1 }), delta("ng"), ...done("l1"));
  await chat.exit();
  assert.deepEqual([chat.output, chat.stderr.trim()], ["wro\nright\n", "the model began this answer again"]);
});

test("with json every event is a line on stdout, which stays JSON whatever it holds", async (t) => {
  const chat = new Chat(t, { opts: { once: "x", json: true } });
  await chat.takes("l1");
  const text = "\u009b\u202e\u001b[2J";
  chat.send(...call("c1", text), delta(text), ...done("l1"));
  await chat.exit();
  assert.doesNotMatch(chat.output, /[\u009b\u202e\u001b]/);
  const events = chat.output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Wire);
  const types = ["user_event", "scope_state", "tool_call", "tool_result", "infer_chunk", "infer_chunk"];
  assert.deepEqual(events.map(({ event_type }) => event_type).slice(0, 6), types);
  assert.equal(events[4]?.["delta"], text);
});

test("a turn that failed, was interrupted or refused rejects with the reason, on stderr alone", async (t) => {
  const ends = async (end: (chat: Chat, input: Wire) => void) => {
    const chat = new Chat(t, { opts: { once: "x" } });
    end(chat, await chat.next("user_event"));
    const { code } = await chat.exit();
    return [code, chat.output, chat.stderr.trim()];
  };
  const accept = (chat: Chat, input: Wire) =>
    chat.send({ event_type: "bb_ack", in_reply_to: input["id"], fate: "started" }, input);
  const error = { code: "unavailable", message: "no model is attached: attach one", retryable: false };
  const failed = await ends((chat, input) => {
    accept(chat, input);
    chat.send(delta("half"), ...done("l1", { stop_reason: "error", error }));
  });
  assert.deepEqual(failed, [1, "half\n", "rejected: no model is attached: attach one"]);
  const interrupted = await ends((chat, input) => {
    accept(chat, input);
    chat.send(...done("l1", { stop_reason: "interrupted" }));
  });
  assert.deepEqual(interrupted, [1, "", "rejected: the turn was interrupted before its answer was whole"]);
  const refused = await ends((chat, input) =>
    chat.send({
      event_type: "bb_error",
      in_reply_to: input["id"],
      code: "overloaded",
      message: "the queue is full",
      retryable: true,
    }),
  );
  assert.deepEqual(refused, [1, "", "rejected: Your message was not sent (the queue is full)."]);
  const lost = await ends((chat, input) => {
    accept(chat, input);
    chat.cut();
  });
  assert.match(String(lost[2]), /^rejected: the connection to the Hub ended before the answer: /);
  assert.equal(lost[0], 1);
});

test("each line of stdin is one turn, sent when the one before it is over", async (t) => {
  const chat = new Chat(t, {});
  chat.type("first\r\n\nsec");
  const first = await chat.takes("l1");
  chat.type("ond\u2028line\nthird");
  chat.endInput();
  chat.send(...answer("l1", "one"));
  const second = await chat.takes("l2");
  assert.equal(chat.received.length, 0, "the third waits");
  chat.send(...answer("l2", "two"));
  const third = await chat.takes("l3");
  chat.send(...answer("l3", "three"));
  assert.equal((await chat.exit()).code, 0);
  assert.deepEqual(
    [first, second, third].map(({ text, content }) => text ?? content),
    ["first", "second\u2028line", "third"],
  );
  assert.equal(chat.output, "one\ntwo\nthree\n");
});

test("an answer to somebody else's question is not printed: ours is awaited", async (t) => {
  const chat = new Chat(t, { opts: { once: "mine" } });
  const input = await chat.next("user_event");
  chat.send({ event_type: "scope_state", state: "running", loop_id: "l0" }, { ...delta("theirs"), loop_id: "l0" });
  chat.send({ event_type: "bb_ack", in_reply_to: input["id"], fate: "queued" }, input);
  chat.send(done("l0")[0]!, { event_type: "scope_state", state: "running" }, ...answer("l1", "ours"));
  assert.equal((await chat.exit()).code, 0);
  assert.equal(chat.output, "ours\n");
});

test("a question is declined, as nobody is there to answer, and said so", async (t) => {
  const chat = new Chat(t, { opts: { once: "x" } });
  await chat.takes("l1");
  const approval = { name: "remove", input: { path: "/x" }, tool_hash: "h" };
  chat.send({ event_type: "input_strict", id: "q1", prompt: "?", options: ["once", "deny"], approval });
  const reply = await chat.next("input_reply");
  assert.deepEqual([reply["in_reply_to"], reply["outcome"]], ["q1", "declined"]);
  chat.send({ event_type: "bb_ack", in_reply_to: reply["id"] }, ...done("l1"));
  assert.equal((await chat.exit()).code, 0);
  const hint = "(--yes approves what the policy asks about)\n";
  assert.equal(chat.stderr, `declined, as nobody is here to answer: may remove run? {"path":"/x"}\n${hint}`);
});

test("with yes what the policy asks about is approved, each time anew, and said so; other questions are declined", async (t) => {
  const chat = new Chat(t, { opts: { once: "x", yes: true } });
  await chat.takes("l1");
  const approval = { name: "remove", input: { path: "/x" }, tool_hash: "h" };
  const options = ["once", "scope", "deny"];
  chat.send({ event_type: "input_strict", id: "q1", prompt: "?", options, approval });
  const approved = await chat.next("input_reply");
  assert.deepEqual([approved["in_reply_to"], approved["outcome"], approved["value"]], ["q1", "accepted", "once"]);
  chat.send({ event_type: "input_strict", id: "q2", prompt: "Overwrite it?", options: ["once", "no"] });
  const declined = await chat.next("input_reply");
  assert.deepEqual([declined["in_reply_to"], declined["outcome"]], ["q2", "declined"]);
  for (const { id } of [approved, declined]) chat.send({ event_type: "bb_ack", in_reply_to: id });
  chat.send(...done("l1"));
  assert.equal((await chat.exit()).code, 0);
  assert.deepEqual(chat.stderr.trim().split("\n"), [
    'approved, as you said yes to all: may remove run? {"path":"/x"}',
    "declined, as nobody is here to answer: Overwrite it?",
  ]);
});

test("what was approved or declined is said with all that hides in it", async (t) => {
  const chat = new Chat(t, { opts: { once: "x", yes: true } });
  await chat.takes("l1");
  const approval = { name: "sh", input: { run: "a\u00a0\u200b\u{e0041}\ufeff" }, tool_hash: "h" };
  chat.send({ event_type: "input_strict", id: "q1", prompt: "?", options: ["once", "deny"], approval });
  const { id } = await chat.next("input_reply");
  chat.send({ event_type: "bb_ack", in_reply_to: id }, ...done("l1"));
  assert.equal((await chat.exit()).code, 0);
  assert.match(chat.stderr, /may sh run\? \{"run":"a\\u00a0\\u200b\\udb40\\udc41\\ufeff"\}\n$/);
});

test("a guest says yes to what its own turn asks, and not to what somebody else has begun", async (t) => {
  const chat = new Chat(t, { opts: { once: "x", guest: true, yes: true } });
  const input = await chat.next("user_event");
  const approval = { name: "remove", input: {}, tool_hash: "h" };
  const options = ["once", "scope", "deny"];
  const asks = (id: string): Wire => ({ event_type: "input_strict", id, prompt: "?", options, approval });
  chat.send({ event_type: "scope_state", state: "running", loop_id: "l0" }, asks("q_theirs"));
  chat.send({ event_type: "bb_ack", in_reply_to: input["id"], fate: "queued" }, input);
  chat.send(done("l0")[0]!, { event_type: "scope_state", state: "running", loop_id: "l1" }, asks("q_ours"));
  const reply = await chat.next("input_reply");
  assert.equal(reply["in_reply_to"], "q_ours");
  chat.send({ event_type: "bb_ack", in_reply_to: reply["id"] }, ...answer("l1", "done"));
  assert.equal((await chat.exit()).code, 0);
  assert.equal(chat.received.filter(({ event_type }) => event_type === "input_reply").length, 0);
});

test("a guest in another app's conversation leaves questions to the people at its screens, and answers with yes", async (t) => {
  for (const [opts, capable] of [
    [{}, true],
    [{ guest: true }, false],
    [{ guest: true, yes: true }, true],
  ] as const) {
    const chat = new Chat(t, { opts: { once: "x", ...opts } });
    await chat.takes("l1");
    assert.equal(chat.asks["input_capable"], capable);
    chat.send(...done("l1"));
    assert.equal((await chat.exit()).code, 0);
  }
});

test("what other conversations ask is not answered, with or without yes, as a guest or not; a child of ours is", async (t) => {
  const approval = { name: "remove", input: {}, tool_hash: "h" };
  const asks = (scope: string): Wire => {
    return { event_type: "input_strict", id: `q_${scope}`, scope, prompt: "?", options: ["once", "deny"], approval };
  };
  const others = ["other", "local/other", "local/other/~k", "local2", "other/~local"];
  for (const [opts, outcome] of [
    [{ guest: true, yes: true }, "accepted"],
    [{ yes: true }, "accepted"],
    [{}, "declined"],
  ] as const) {
    const chat = new Chat(t, { opts: { once: "x", ...opts } });
    await chat.takes("l1");
    chat.send(...others.map(asks), asks("local/~k"));
    const reply = await chat.next("input_reply");
    assert.deepEqual([reply["in_reply_to"], reply["outcome"]], ["q_local/~k", outcome]);
    chat.send({ event_type: "bb_ack", in_reply_to: reply["id"] }, ...done("l1"));
    assert.equal((await chat.exit()).code, 0);
    assert.equal(chat.received.filter(({ event_type }) => event_type === "input_reply").length, 0);
    assert.equal(chat.stderr.match(/may remove run/g)?.length, 1, "and nothing is said of them");
  }
});

test("a reader of the answer that goes away ends the run, and so does the app", async (t) => {
  const unread = new Chat(t, { opts: { once: "x" } });
  await unread.takes("l1");
  unread.stopReading();
  unread.send(delta("nobody reads this"), delta("nor this"));
  assert.equal((await unread.exit()).code, 1);
  assert.match(unread.stderr, /stdout was closed/);

  const waiting = new Chat(t, {});
  await waiting.until(() => waiting.synced, "the handshake");
  waiting.signal("SIGUSR1"); // the fixture aborts the signal that main was started with
  assert.equal((await waiting.exit()).code, 1);
});

test("an option of the wrong kind is refused by name", async (t) => {
  for (const [opts, name] of [
    [{ scope: 7 }, "scope"],
    [{ json: "yes" }, "json"],
    [{ once: " " }, "once"],
    [{ mode: "refuse" }, "mode"],
    [{ yes: 1 }, "yes"],
  ] as const) {
    const chat = new Chat(t, { opts });
    assert.equal((await chat.exit()).code, 1);
    assert.ok(chat.stderr.includes(`"${name}"`));
  }
});
