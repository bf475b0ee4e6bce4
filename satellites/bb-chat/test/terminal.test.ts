import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test, type TestContext } from "node:test";
import { answer, Chat, done, type Wire } from "./harness.ts";

const python = spawnSync("python3", ["--version"]).status === 0;
const skip = python && process.platform !== "win32" ? false : "needs python3, whose pty module is the terminal";

const UP = "\u001b[A";
const DOWN = "\u001b[B";
const LEFT = "\u001b[D";
const HOME = "\u001b[H";
const END = "\u001b[F";
const DELETE = "\u001b[3~";
const BACKSPACE = "\u007f";
const ctrl = (letter: string) => String.fromCharCode(letter.charCodeAt(0) - 96);
const WELL = { code: 0, restored: true };

async function open(test: TestContext, opts: Record<string, unknown> = {}): Promise<Chat> {
  const chat = new Chat(test, { opts, terminal: { columns: 80, rows: 24 } });
  await chat.ready();
  return chat;
}

const delta = (text: string): Wire => ({
  event_type: "infer_chunk",
  loop_id: "l1",
  round: 0,
  attempt: 0,
  kind: "block_delta",
  index: 0,
  block_type: "text",
  delta: text,
});

test(
  "a conversation: what is typed is sent, the answer streams, calls are shown, /quit leaves",
  { skip },
  async (t) => {
    const chat = await open(t, { banner: "scripted demo: no model", user: "ada" });
    await chat.shows("scripted demo: no model");
    chat.type("what time is it?\r");
    const input = await chat.takes("l1");
    assert.deepEqual([input["text"] ?? input["content"], input["scope"]], ["what time is it?", "local"]);
    await chat.shows("ada: what time is it?");
    chat.send(delta("Let me lo"));
    await chat.shows("Let me lo");
    chat.send(delta("ok."), {
      event_type: "tool_call",
      loop_id: "l1",
      call_id: "c1",
      name: "clock",
      input: { zone: "UTC" },
    });
    await chat.shows("running a tool");
    chat.send({ event_type: "tool_progress", call_id: "c1", text: "winding" });
    await chat.shows(`clock({"zone":"UTC"}) … winding`);
    chat.send({
      event_type: "tool_result",
      call_id: "c1",
      name: "clock",
      success: true,
      status: "ok",
      content: [{ type: "text", text: "noon" }],
    });
    await chat.shows(`clock({"zone":"UTC"}) → ok: noon`);
    chat.send(...answer("l1", "It is noon.").map((event) => ({ ...event, round: 1 })));
    await chat.shows("It is noon.");
    await chat.shows("idle", chat.screen.lastIndexOf("It is noon."));
    chat.type("/help\r");
    await chat.shows("Esc interrupts what runs");
    chat.type("/quit\r");
    assert.deepEqual(await chat.exit(), WELL);
    assert.equal((await chat.next("bb_bye"))["reason"], "the person left");
    assert.equal(chat.received.length, 0, "commands are not sent");
  },
);

test("the input line edits by character, line, word and history, and keeps a paste whole", { skip }, async (t) => {
  const chat = await open(t);
  const sends = async (keys: string[]) => {
    for (const key of keys) chat.type(key);
    const input = await chat.takes("l1");
    chat.send(...done("l1"));
    return input["text"];
  };
  assert.equal(await sends(["hllo", LEFT, LEFT, LEFT, "e", END, "!", "\r"]), "hello!");
  assert.equal(await sends(["a👩‍👩‍👧e\u0301日x", LEFT, BACKSPACE, BACKSPACE, BACKSPACE, HOME, DELETE, "b", "\r"]), "bx");
  assert.equal(await sends(["gone", ctrl("u"), "two words", ctrl("w"), "lines\u001b\r2", "\r"]), "two lines\n2");
  assert.equal(await sends([UP, UP, UP, UP, DOWN, "?", "\r"]), "bx?");
  assert.equal(await sends(["\u001b[200~one\r\ntwo\rthree\n\u001b[201~", "four", "\r"]), "one\ntwo\nthree\nfour");
  chat.type(ctrl("d"));
  assert.deepEqual(await chat.exit(), WELL);
});

test("Esc interrupts what runs, and what had been queued comes back into the input line", { skip }, async (t) => {
  const chat = await open(t);
  chat.type("go\r");
  await chat.takes("l1");
  chat.send(delta("working"));
  await chat.shows("working");
  chat.type("and then\r");
  const queued = await chat.takes("", "queued");
  await chat.shows("queued: you: and then");
  chat.type("\u001b");
  const interrupt = await chat.next("interrupt");
  assert.equal(interrupt["scope"], "local");
  chat.send(
    { event_type: "bb_ack", in_reply_to: interrupt["id"] },
    { event_type: "input_state", id: queued["id"], fate: "returned" },
  );
  chat.send(...done("l1", { stop_reason: "interrupted" }));
  await chat.shows("Interrupted.");
  await chat.shows("> and then");
  chat.type("!\r");
  assert.equal((await chat.takes("l2"))["text"], "and then!");
});

test("Ctrl-C leaves when nothing runs; else it interrupts, and leaves when pressed again", { skip }, async (t) => {
  const idle = await open(t);
  idle.type(ctrl("c"));
  assert.deepEqual(await idle.exit(), WELL);

  const running = await open(t);
  running.type("go\r");
  await running.takes("l1");
  await running.shows("thinking");
  running.type(ctrl("c"));
  await running.next("interrupt");
  await running.shows("Ctrl-C again leaves");
  running.type(ctrl("c"));
  assert.deepEqual(await running.exit(), WELL);
});

test(
  "an approval shows the exact arguments, takes no stray Enter, and closes when it is resolved",
  { skip },
  async (t) => {
    const chat = await open(t);
    const approval = { name: "remove", input: { path: "/etc/\u202e\u001b[2Jpasswd" }, tool_hash: "h" };
    chat.send({ event_type: "scope_state", state: "running", loop_id: "l1" });
    chat.send({
      event_type: "input_strict",
      id: "q1",
      prompt: "remove asks",
      options: ["once", "scope", "deny"],
      approval,
    });
    await chat.shows(String.raw`"path": "/etc/\u202e\u001b[2Jpasswd"`);
    await chat.shows("3. deny");
    chat.type("\r");
    await chat.shows("Choose with a number");
    assert.equal(chat.received.length, 0);
    chat.type("3");
    await chat.shows("❯ 3. deny");
    chat.type(UP);
    await chat.shows("❯ 2. scope");
    chat.type("\r");
    const { in_reply_to, outcome, value, id } = await chat.next("input_reply");
    assert.deepEqual([in_reply_to, outcome, value], ["q1", "accepted", "scope"]);
    chat.send(
      { event_type: "bb_ack", in_reply_to: id },
      { event_type: "input_resolved", id: "q1", outcome: "accepted" },
    );
    await chat.shows("May remove run? accepted");

    chat.send({ event_type: "input_strict", id: "q2", prompt: "another", options: ["yes"] });
    await chat.shows("1. yes", chat.screen.length);
    chat.type("\u001b");
    const declined = await chat.next("input_reply");
    assert.deepEqual([declined["in_reply_to"], declined["outcome"]], ["q2", "declined"]);
  },
);

test(
  "a free answer is JSON where the schema asks for it, and one the Hub refuses can be corrected",
  { skip },
  async (t) => {
    const chat = await open(t);
    chat.send({ event_type: "input_strict", id: "q1", prompt: "How many?", schema: { type: "integer" } });
    await chat.shows("How many?");
    chat.type("many\r");
    await chat.shows("A whole number is needed");
    chat.type(`${ctrl("u")}-1\r`);
    const first = await chat.next("input_reply");
    assert.equal(first["value"], -1);
    const refusal = { code: "invalid_params", message: "must be 0 or more; the question stays open", retryable: false };
    chat.send({ event_type: "bb_error", in_reply_to: first["id"], ...refusal });
    await chat.shows("must be 0 or more");
    chat.type(`${BACKSPACE}${BACKSPACE}3\r`);
    assert.equal((await chat.next("input_reply"))["value"], 3);
  },
);

test("an object is asked for field by field, can be gone back in, and is sent whole", { skip }, async (t) => {
  const chat = await open(t);
  const schema = {
    type: "object",
    properties: {
      host: { type: "string", title: "Host", description: "where it runs" },
      port: { type: "integer", minimum: 1, default: 8080 },
      env: { enum: ["test", "live"] },
      quiet: { type: "boolean" },
      note: { type: "string" },
    },
    required: ["host", "port", "env"],
  };
  chat.send({ event_type: "input_strict", id: "q1", prompt: "Where to?", schema });
  const types = async (keys: string, shows: string) => {
    const from = chat.screen.length;
    chat.type(keys);
    await chat.shows(shows, from);
  };
  await chat.shows("Host: where it runs (1 of 5; Enter answers)");
  await types("\r", "This is needed.");
  await types("example.org\r", "port (2 of 5; a whole number, then Enter; else 8080)");
  await types("\u001b[Z", "> example.org");
  await types("!\r", "port (2 of 5");
  await types("0\r", "1. test");
  await types("\r", "Choose with a number");
  await types("2\r", "quiet (4 of 5; a number or the arrows, then Enter; may be left out)");
  await types("\r", "note (5 of 5");
  chat.type("\r");
  const first = await chat.next("input_reply");
  assert.deepEqual(first["value"], { host: "example.org!", port: 0, env: "live" });
  const message = "input/port: 0 is less than 1; the question stays open";
  chat.send({ event_type: "bb_error", in_reply_to: first["id"], code: "invalid_params", message, retryable: false });
  await chat.shows("0 is less than 1");
  await types(`${BACKSPACE}\r`, "❯ 2. live");
  await types("\r", "quiet (4 of 5");
  await types("1\r", "note (5 of 5");
  chat.type("be careful\r");
  const { value, outcome } = await chat.next("input_reply");
  assert.deepEqual(
    [outcome, value],
    ["accepted", { host: "example.org!", port: 8080, env: "live", quiet: true, note: "be careful" }],
  );
});

test(
  "what was typed for a question that closed meanwhile is not sent as a message by its Enter",
  { skip },
  async (t) => {
    const chat = await open(t);
    chat.send({ event_type: "input_strict", id: "q1", prompt: "Sure?" });
    await chat.shows("Sure?");
    chat.type("yes, de");
    await chat.shows("> yes, de");
    chat.send({ event_type: "input_resolved", id: "q1", outcome: "declined", by: "phone" });
    await chat.shows("A question to you declined (by phone)");
    chat.type("lete it");
    await chat.shows("> lete it");
    chat.type("\r");
    await chat.shows("Not sent: the question that you were answering is closed.");
    assert.equal(chat.received.length, 0);
    chat.type("\r");
    assert.equal((await chat.takes("l1"))["text"], "lete it");
  },
);

test(
  "what Enter does while a turn runs is on the screen, is chosen with Tab or a command, and sent",
  { skip },
  async (t) => {
    const chat = await open(t, { mode: "queue" });
    chat.type("go\r");
    assert.equal((await chat.takes("l1"))["mode"], "queue");
    await chat.shows("Enter queues · Tab changes that · Esc interrupts");
    chat.type("\t");
    await chat.shows("Enter steers");
    chat.type("rather this\r");
    const steer = await chat.next("user_event");
    assert.deepEqual([steer["text"], steer["mode"]], ["rather this", "steer"]);
    chat.send({ event_type: "bb_ack", in_reply_to: steer["id"], fate: "steering" }, steer);
    await chat.shows("steering: you: rather this");
    chat.type("/replace\r");
    await chat.shows("Enter replaces, while a turn runs.");
    chat.type("stop that\r");
    assert.equal((await chat.next("user_event"))["mode"], "replace");

    const plain = await open(t);
    plain.type("go\r");
    assert.ok(!("mode" in (await plain.takes("l1"))), "the app's rules for the scope count");
    await plain.shows("Enter sends · Tab changes that");
  },
);

test("nothing a model, a tool or another UI sends is obeyed by the terminal", { skip }, async (t) => {
  const chat = await open(t, { banner: "\u001b]0;banner\u0007" });
  const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e";
  const name = `tool${evil}`;
  chat.send({ event_type: "user_event", id: "o1", type: "message", text: evil });
  chat.send(delta(evil), { event_type: "tool_call", loop_id: "l1", call_id: "c1", name, input: { [evil]: evil } });
  chat.send({ event_type: "tool_progress", call_id: "c1", text: evil });
  chat.send({
    event_type: "input_strict",
    id: "q1",
    prompt: evil,
    options: [evil],
    approval: { name, input: evil, tool_hash: "h" },
  });
  await chat.shows("1. ");
  chat.send({ event_type: "input_resolved", id: "q1", outcome: "declined" });
  chat.send({
    event_type: "tool_result",
    call_id: "c1",
    name,
    success: false,
    status: "error",
    content: [{ type: "text", text: evil }],
  });
  chat.send(
    ...done("l1", { stop_reason: "error", error: { code: "internal", message: `end${evil}`, retryable: false } }),
  );
  await chat.shows("The turn failed: end");
  chat.type(ctrl("d"));
  await chat.exit();
  assert.doesNotMatch(chat.output, /\u001b\]|\u001b\[2J|\u009b|\u202e|\u0007/);
  assert.ok(chat.screen.includes("owned"));
});

test("a UI that joins late shows what runs, and what others say", { skip }, async (t) => {
  const chat = await open(t);
  chat.send({ event_type: "scope_state", state: "running", loop_id: "l1" }, delta("the text so far"));
  await chat.shows("the text so far");
  chat.send(delta(", and its end"), ...done("l1"));
  await chat.shows("the text so far, and its end");
  chat.send({ event_type: "user_event", id: "o1", type: "message", text: "hello from the web" });
  await chat.shows("someone else: hello from the web");
});

test("an answer longer than the screen is whole in the scrollback, line by line", { skip }, async (t) => {
  const chat = await open(t);
  const lines = Array.from({ length: 200 }, (_, line) => `this is line ${line} of it`);
  for (const line of lines) chat.send(delta(`${line}\n`));
  await chat.shows("this is line 199 of it");
  const before = chat.screen.length;
  chat.send(...done("l1"));
  await chat.shows("idle", before);
  const printed = chat.screen
    .slice(before)
    .split("\r\n")
    .filter((line) => line.startsWith("this is line"));
  assert.deepEqual(printed, lines);
});

test("a connection that is lost is told in one sentence, and the terminal is as it was", { skip }, async (t) => {
  const chat = await open(t);
  chat.send(delta("half an answer"));
  await chat.shows("half an answer");
  chat.cut();
  assert.deepEqual(await chat.exit(), WELL);
  assert.match(chat.screen, /The connection to the Hub has ended: .+\./);
});

test("stopped by the app or ended by a signal, it leaves the terminal as it was", { skip }, async (t) => {
  const stopped = await open(t);
  stopped.signal("SIGUSR1"); // the fixture aborts the signal that main was started with
  assert.deepEqual(await stopped.exit(), WELL);

  const killed = await open(t);
  killed.signal("SIGTERM");
  assert.equal((await killed.exit()).restored, true);
});
