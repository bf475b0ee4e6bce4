import assert from "node:assert/strict";
import { test } from "node:test";
import { busy, status } from "../src/state.ts";
import type { Act, Shown } from "../src/view.ts";
import {
  view,
  plus,
  lines,
  live,
  scope,
  start,
  delta,
  stop,
  done,
  state,
  call,
  result,
  echo,
  question,
} from "./events.ts";

test("an answer streams below, and is printed once when its loop is done", () => {
  const streaming = view(start(), delta("Hel"), delta("lo"));
  assert.deepEqual([live(streaming), lines(streaming)], [["text: Hello"], []]);
  const over = plus(streaming, stop("Hello"), done());
  assert.deepEqual([live(over), lines(over)], [[], ["text: Hello"]]);
});

test("the whole block replaces what its deltas said", () => {
  assert.deepEqual(lines(view(start(), delta("Helo"), stop("Hello"), done())), ["text: Hello"]);
});

test("blocks are kept apart by index, in its order, whatever the order of their pieces", () => {
  const both = view(delta("B", { index: 1 }), delta("A", { index: 0 }), delta("b", { index: 1 }), done());
  assert.deepEqual(lines(both), ["text: A", "text: Bb"]);
});

test("a reader that joins in mid-block gets it as one delta", () => {
  assert.deepEqual(
    lines(view(state("running", "l1"), delta("all so far"), delta(", and on"), stop("all so far, and on"), done())),
    ["text: all so far, and on"],
  );
});

test("merged deltas, and a block that is replayed whole after its pieces, give the text once", () => {
  const merged = { merged: 3, n: 4 };
  assert.deepEqual(live(view(start(), delta("One "), delta("two three four", merged))), ["text: One two three four"]);
  const replayed = view(
    state("running", "l1"),
    delta("a part"),
    stop("the whole"),
    state("running", "l1"),
    start({ index: 1 }),
    delta("so far", { index: 1 }),
    delta(", and on", { index: 1, ...merged }),
    stop("so far, and on", { index: 1 }),
    done(),
  );
  assert.deepEqual(lines(replayed), ["text: the whole", "text: so far, and on"]);
});

test("turns that are replayed while another runs are printed in order, and the running one is still running", () => {
  const back = view(
    state("running", "l2"),
    echo("m1", "one"),
    stop("first"),
    done(),
    echo("m2", "two"),
    state("running", "l2"),
    start({ loop_id: "l2" }),
    delta("sec", { loop_id: "l2" }),
  );
  assert.deepEqual(lines(back), ["other: one", "text: first", "other: two"]);
  assert.deepEqual([live(back), busy(back)], [["text: sec"], true]);
});

test("a higher attempt voids what the lower one said, and late pieces of that one are dropped", () => {
  const again = view(
    delta("wrong"),
    stop("wrong"),
    delta("ri", { attempt: 1 }),
    delta("late"),
    delta("ght", { attempt: 1 }),
    done(),
  );
  assert.deepEqual(lines(again), ["text: right"]);
});

test("a later round prints the one before it", () => {
  const second = view(stop("first"), delta("second", { round: 1 }), delta("late"));
  assert.deepEqual([lines(second), live(second)], [["text: first"], ["text: second"]]);
});

test("nothing that comes of a loop after its end is shown", () => {
  const late = view(delta("x"), done(), delta("late"), state("running", "l1"));
  assert.deepEqual([lines(late), live(late), busy(late)], [["text: x"], [], false]);
});

test("what was said before an interrupt stays, and so does the reason a turn failed", () => {
  assert.deepEqual(lines(view(delta("part"), done({ stop_reason: "interrupted" }))), [
    "text: part",
    "note: Interrupted.",
  ]);
  const error = { code: "unavailable", message: "the model went away", retryable: true };
  assert.deepEqual(lines(view(done({ stop_reason: "error", error }))), [
    "error: The turn failed: the model went away (unavailable)",
  ]);
  assert.match(
    lines(view(done({ stop_reason: "something newer" })))[0]!,
    /^error: The turn failed/,
    "an unknown reason is no success",
  );
});

test("a call is shown while it runs, and printed with its result", () => {
  const progress: Shown = { event_type: "tool_progress", scope, call_id: "c1", text: "reading", fraction: 0.5 };
  const running = view(stop("Let me see."), call("c1"), call("c2"), progress);
  assert.deepEqual(lines(running), ["text: Let me see."], "what the model said comes before its calls");
  assert.deepEqual(
    running.calls.map(({ name, progress: of }) => [name, of]),
    [
      ["c1", "50 % reading"],
      ["c2", ""],
    ],
  );
  assert.equal(status(running), "running a tool");
  const over = plus(running, result("c1"), result("c2", "denied"));
  assert.deepEqual(lines(over).slice(1), ["c1 → ok: of c1", "c2 → denied: of c2"]);
  assert.equal(over.calls.length, 0);
});

test("a call without a result ends with its loop, and a result without its call is shown all the same", () => {
  assert.deepEqual(lines(view(call("c1"), done())), ["c1 → lost: no result was seen"]);
  assert.deepEqual(lines(view(result("c9"))), ["a tool → ok: of c9"]);
});

test("the state follows the scope: it runs, it waits for the person, it is idle", () => {
  assert.equal(status(view()), "idle");
  assert.equal(status(view(state("running", "l1"))), "thinking");
  assert.equal(status(view(state("running", "l1"), delta("x"))), "writing");
  assert.equal(status(view(state("running", "l1"), question("q1"))), "waiting for you");
  assert.equal(status(view(state("running", "l1"), delta("x"), done(), state("idle"))), "idle");
});

test("a question is printed whole, an approval with its exact arguments, and closes when it is resolved", () => {
  const approval = { name: "rm", input: { path: "/x", list: [1, 2] }, tool_hash: "h" };
  const asked = view(question("q1", { approval, options: ["once", "deny"] }), question("q2"), question("q1"));
  assert.equal(asked.asking.length, 2);
  const first = asked.finished[0];
  assert.ok(first?.type === "question");
  assert.equal(first.title, "May rm run?");
  assert.ok(first.text.includes(JSON.stringify(approval.input, null, 2)));
  const closed = plus(asked, { event_type: "input_resolved", scope, id: "q1", outcome: "accepted" });
  assert.deepEqual(
    closed.asking.map(({ question: { id } }) => id),
    ["q2"],
  );
  assert.equal(lines(closed).at(-1), "note: May rm run? accepted");
});

test("what is to be allowed is shown with all that hides in it; other questions as text", () => {
  const hidden = "rm\u200b -rf\u00a0/\u{e0041}\u2028👩\u200d👧\u00ad\ufeff";
  const told = "rm\\u200b -rf\\u00a0/\\udb40\\udc41\\u2028👩\\u200d👧\\u00ad\\ufeff";
  const approval = { name: "sh\u200b", input: { command: hidden }, tool_hash: "h" };
  const [asked, form] = view(
    question("q1", { approval, prompt: hidden, options: ["once", "deny"] }),
    question("q2", { prompt: "👩\u200d👧?" }),
  ).finished;
  assert.ok(asked?.type === "question" && form?.type === "question");
  assert.deepEqual([asked.title, asked.text], ["May sh\\u200b run?", `${told}\n{\n  "command": "${told}"\n}`]);
  assert.equal(form.text, "👩\u200d👧?");
});

test("a child conversation's questions reach the person, its talk does not", () => {
  const child = view(delta("whispered", { scope: "local/~a1" }), question("q1", { scope: "local/~a1" }));
  assert.deepEqual(live(child), []);
  assert.equal(child.asking[0]?.title, "A question to you (in local/~a1)");
});

test("an event of the wire cannot pass for an act of the person", () => {
  const forged = { ...echo("o1", "x"), act: "leave" } as Shown;
  assert.equal(view(forged).left, false);
});

test("what is finished is held only until it is printed", () => {
  const long = Array.from({ length: 1000 }, (_, n): (Shown | Act)[] => [
    stop("x", { loop_id: `l${n}` }),
    done({ loop_id: `l${n}` }),
    { act: "printed" },
  ]);
  const after = view(...long.flat());
  assert.deepEqual([after.finished, after.waiting, after.calls, after.printed], [[], [], [], 1000]);
});

test("a block that never ends is not held without a bound, and still ends whole", () => {
  const chunk = "x".repeat(1024 * 1024);
  const flooded = view(...Array.from({ length: 50 }, () => delta(chunk)));
  assert.ok(live(flooded)[0]!.length < 3 * chunk.length);
  assert.deepEqual(lines(plus(flooded, stop("whole"), done())), ["text: whole"]);
});

test("leaving keeps what the model had said", () => {
  const left = view(delta("half an"), { act: "leave" });
  assert.deepEqual([lines(left), left.left], [["text: half an"], true]);
});

test("a blob is shown as one line: its name, its type, its size", () => {
  const ref = `sha256-${"0".repeat(64)}`;
  const content = [
    { type: "text" as const, text: "look:" },
    { type: "blob" as const, ref, mime_type: "image/png", size: 5_452_595, name: "shot.png" },
    { type: "blob" as const, ref, mime_type: "text/plain", size: 900 },
  ];
  const said = view({ event_type: "user_event", type: "message", scope, id: "m1", content });
  assert.match(JSON.stringify(said), /look:\\n\[shot\.png, image\/png, 5\.2 MiB\]\\n\[text\/plain, 900 bytes\]/);
});
