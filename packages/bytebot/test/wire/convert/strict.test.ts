import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BytebotError, strict, toOpenai, type Block, type Message } from "../../../src/wire/index.ts";
import { checkStrict } from "../../hub/strict.ts";
import { anything, canonical } from "./shapes.ts";

const user = (...content: Block[]): Message => ({ role: "user", content });
const assistant = (...content: Block[]): Message => ({ role: "assistant", content });
const text = (value: string): Block => ({ type: "text", text: value });
const use = (id: string, more: object = {}): Block => ({ type: "tool_use", id, name: "read", input: {}, ...more });
const result = (id: string, more: object = {}): Block =>
  ({ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "ok" }], ...more }) as Block;
const mine = ({ signature }: { signature?: string | undefined }): boolean => signature === "mine";

const envelope = {
  event_type: "bb_infer_request",
  id: "i",
  loop_id: "l",
  scope: "u",
  stream: true,
  round: 0,
  attempt: 0,
};

test("whatever comes in, what goes out is what the strictest provider takes, in both shapes, or a refusal (CNV-6)", () => {
  let passed = 0;
  const rules = fc.property(anything, (messages) => {
    const before = JSON.stringify(messages);
    let out: Message[];
    try {
      out = strict(messages, mine);
    } catch (error) {
      assert.ok(error instanceof BytebotError && error.code === "invalid_params", String(error));
      return;
    }
    passed++;
    checkStrict({ ...envelope, messages: out });
    checkStrict({ ...envelope, api_shape: "openai", ...toOpenai({ messages: out }) });
    assert.deepEqual(strict(out, mine), out, "what is strict stays as it is");
    assert.equal(JSON.stringify(messages), before, "what was given is not touched");
  });
  fc.assert(rules, { numRuns: 3000 });
  assert.ok(passed > 100, `enough of it was taken: ${passed}`);
});

test("messages that keep the rules go out as they are (CNV-6)", () => {
  fc.assert(fc.property(canonical, (messages) => assert.deepEqual(strict(messages, mine), messages)));
});

test("what says nothing is left out, and neighbours are joined (CNV-7)", () => {
  const messages = [
    user(text("a"), text(" \n")),
    assistant(text("")),
    user(text("b"), { type: "image", mime_type: "image/png", data: "" }),
    assistant(text("c")),
    assistant(text("d")),
  ];
  assert.deepEqual(strict(messages, mine), [user(text("a"), text("b")), assistant(text("c"), text("d"))]);
});

test("results come first in their message, a failure says something, a name and arguments are what a provider takes (CNV-7)", () => {
  const messages = [
    user(text("go")),
    assistant(use("1", { name: "no such.tool", input: null, malformed: "{" }), use("2", { name: "", input: [1] })),
    user(text("wait"), result("2", { is_error: true, content: [{ type: "text", text: " " }] }), result("1")),
  ];
  assert.deepEqual(strict(messages, mine), [
    user(text("go")),
    assistant(use("1", { name: "no_such_tool" }), use("2", { name: "_" })),
    user(
      result("2", { is_error: true, content: [{ type: "text", text: "The call failed, and said no more." }] }),
      result("1"),
      text("wait"),
    ),
  ]);
});

test("thinking goes back signed, byte for byte, to its own model, and never last (CNV-8)", () => {
  const thinking = (signature?: string): Block => ({
    type: "thinking",
    thinking: "hm \u2028 é",
    ...(signature === undefined ? {} : { signature }),
  });
  const sent = strict(
    [
      user(text("a")),
      assistant(thinking("mine"), thinking("another's"), thinking(), text("b"), thinking("mine")),
      user(text("c")),
      assistant(thinking("mine")),
      user(text("d")),
    ],
    mine,
  );
  assert.deepEqual(sent, [user(text("a")), assistant(thinking("mine"), text("b")), user(text("c"), text("d"))]);
});

test("what cannot be mended without changing what was said is refused, and the refusal says where (CNV-9)", () => {
  const cases: [Message[], RegExp][] = [
    [[], /nothing is left to send/],
    [[user(text(" "))], /nothing is left to send/],
    [[assistant(text("hello")), user(text("hi"))], /begin with the assistant/],
    [[user(text("a")), assistant(use("1"))], /the call "1" has no result/],
    [[user(text("a")), assistant(use("1")), user(text("b"))], /the call "1" has no result/],
    [[user(text("a")), assistant(use("1")), user(result("1"), result("1"))], /the result of "1"/],
    [[user(text("a"), result("9"))], /the result of "9" does not follow its call/],
    [[user(text("a")), assistant(use("1"), use("1")), user(result("1"))], /two calls have the id "1"/],
    [[user(text("a")), assistant(use("1", { id: undefined })), user(text("b"))], /has no id/],
    [[user(use("1"))], /"messages.0": a tool_use belongs in an assistant message/],
    [[user(text("a")), assistant(result("1"))], /"messages.1": a tool_result belongs in a user message/],
    [[user({ type: "thinking", thinking: "x" })], /"messages.0": thinking belongs in an assistant message/],
  ];
  for (const [messages, why] of cases) {
    assert.throws(
      () => strict(messages, mine),
      (error) => error instanceof BytebotError && error.code === "invalid_params" && why.test(error.message),
      String(why),
    );
  }
  const long = [user(text("a")), assistant(use("1".repeat(1_000_000)))];
  assert.throws(
    () => strict(long, mine),
    (error) => error instanceof BytebotError && error.message.length < 300,
  );
});
