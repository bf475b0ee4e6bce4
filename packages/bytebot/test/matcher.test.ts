import assert from "node:assert/strict";
import { test } from "node:test";
import { findInOrder } from "./matcher.ts";

const golden = [
  { event_type: "ask", id: "r_1", scope: "s", text: "x", extra: { a: 1 } },
  { event_type: "answer", in_reply_to: "r_1", success: true },
];
const ask = { event_type: "ask", id: "r_9", scope: "t", text: "hello", extra: { a: 1, b: 2 }, seq: 1 };
const answer = { event_type: "answer", in_reply_to: "r_9", success: true };
const other = { event_type: "other" };

test("a trace contains the golden lines in order, between others and with other ids", () => {
  assert.deepEqual(findInOrder(golden, [other, ask, other, answer]), [1, 3]);
  assert.deepEqual(findInOrder(golden, [{ ...ask, id: "r_0" }, ask, answer]), [1, 2]);
});

test("another order, a missing line, field or value, or an answer to something else is not contained", () => {
  assert.equal(findInOrder(golden, [answer, ask]), undefined);
  assert.equal(findInOrder(golden, [ask]), undefined);
  assert.equal(findInOrder(golden, [{ ...ask, text: undefined }, answer]), undefined);
  assert.equal(findInOrder(golden, [{ ...ask, extra: { b: 2 } }, answer]), undefined);
  assert.equal(findInOrder(golden, [ask, { ...answer, success: false }]), undefined);
  assert.equal(findInOrder(golden, [ask, { ...answer, in_reply_to: "r_8" }]), undefined);
});

test("two golden ids are never one id of the trace", () => {
  const two = [
    { event_type: "a", call_id: "c_1" },
    { event_type: "a", call_id: "c_2" },
  ];
  assert.equal(
    findInOrder(two, [
      { event_type: "a", call_id: "x" },
      { event_type: "a", call_id: "x" },
    ]),
    undefined,
  );
  assert.deepEqual(
    findInOrder(two, [
      { event_type: "a", call_id: "x" },
      { event_type: "a", call_id: "y" },
    ]),
    [0, 1],
  );
});
