import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../src/items.ts";
import { busy, newView, status, type View } from "../src/state.ts";
import { reduce, type Act, type Shown } from "../src/view.ts";
import { withText } from "../src/editor.ts";

const view = (...events: (Shown | Act)[]) => then(newView("local"), ...events);
const then = (start: View, ...events: (Shown | Act)[]) => events.reduce(reduce, start);
const lines = ({ finished }: View) => finished.map(line);
const live = ({ round }: View) => [...(round?.blocks.values() ?? [])].map(({ type, text }) => `${type}: ${text}`);

function line(item: Item): string {
  if (item.type === "user") return `${item.mine ? "me" : (item.from ?? "other")}: ${item.text}`;
  if (item.type === "call") return `${item.call.name} → ${item.status}: ${item.result}`;
  return `${item.type}: ${item.text}`;
}

const scope = "local";
const place = (at: object) =>
  ({ event_type: "infer_chunk", scope, loop_id: "l1", round: 0, attempt: 0, index: 0, ...at }) as const;
const start = (at = {}) => ({ ...place(at), kind: "block_start", block_type: "text", ...at }) as Shown;
const delta = (text: string, at = {}) =>
  ({ ...place(at), kind: "block_delta", block_type: "text", delta: text, ...at }) as Shown;
const stop = (text: string, at = {}) =>
  ({ ...place(at), kind: "block_stop", block: { type: "text", text }, ...at }) as Shown;
const done = (at = {}): Shown => ({
  event_type: "infer_chunk",
  scope,
  kind: "loop_done",
  loop_id: "l1",
  stop_reason: "end_turn",
  ...at,
});
const state = (value: "running" | "idle", loop?: string): Shown => ({
  event_type: "scope_state",
  scope,
  state: value,
  ...(loop === undefined ? {} : { loop_id: loop }),
});
const call = (id: string, at = {}): Shown => ({
  event_type: "tool_call",
  scope,
  loop_id: "l1",
  call_id: id,
  name: id,
  input: { a: 1 },
  ...at,
});
const result = (id: string, status: "ok" | "denied" = "ok"): Shown => ({
  event_type: "tool_result",
  scope,
  call_id: id,
  success: status === "ok",
  status,
  content: [{ type: "text", text: `of ${id}` }],
});
const echo = (id: string, text: string): Shown => ({ event_type: "user_event", type: "message", scope, id, text });
const from = (who: string, id: string, text: string, more: object = {}): Shown => ({
  ...echo(id, text),
  from: who,
  ...more,
});
const send = (id: string, text: string): Act => ({ act: "send", id, text });
const fate = (id: string, name: string): Act => ({ act: "fate", id, fate: name });
const returned = (id: string): Shown => ({ event_type: "input_state", scope, id, fate: "returned" });

test("an answer streams below, and is printed once when its loop is done", () => {
  const streaming = view(start(), delta("Hel"), delta("lo"));
  assert.deepEqual([live(streaming), lines(streaming)], [["text: Hello"], []]);
  const over = then(streaming, stop("Hello"), done());
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
  const over = then(running, result("c1"), result("c2", "denied"));
  assert.deepEqual(lines(over).slice(1), ["c1 → ok: of c1", "c2 → denied: of c2"]);
  assert.equal(over.calls.length, 0);
});

test("a call without a result ends with its loop, and a result without its call is shown all the same", () => {
  assert.deepEqual(lines(view(call("c1"), done())), ["c1 → lost: no result was seen"]);
  assert.deepEqual(lines(view(result("c9"))), ["a tool → ok: of c9"]);
});

test("our input is printed where the Hub's echo puts it, once, whether its acknowledgement comes before or after", () => {
  const waiting = view(send("u1", "hi"));
  assert.deepEqual([lines(waiting), waiting.waiting.map(({ state: at }) => at)], [[], ["sending"]]);
  assert.deepEqual(lines(then(waiting, echo("u1", "hi"), fate("u1", "started"))), ["me: hi"]);
  assert.deepEqual(lines(then(waiting, fate("u1", "started"), state("running", "l1"), echo("u1", "hi"))), ["me: hi"]);
});

test("an input that is queued waits below the running answer until its own turn", () => {
  const queued = view(
    send("u1", "one"),
    echo("u1", "one"),
    delta("an"),
    send("u2", "two"),
    fate("u2", "queued"),
    echo("u2", "two"),
  );
  assert.deepEqual([lines(queued), queued.waiting.map(({ text }) => text)], [["me: one"], ["two"]]);
  const next = then(queued, delta("swer"), done(), state("running"));
  assert.deepEqual([lines(next), next.waiting], [["me: one", "text: answer", "me: two"], []]);
});

test("inputs of other UIs are shown as theirs, in the order of the echoes", () => {
  const other = view(
    echo("o1", "theirs"),
    delta("x"),
    send("u1", "mine"),
    echo("o2", "theirs too"),
    echo("u1", "mine"),
    done(),
    state("running"),
  );
  assert.deepEqual(lines(other), ["other: theirs", "text: x", "other: theirs too"]);
  assert.deepEqual(lines(then(other, delta("y", { loop_id: "l2" }), done({ loop_id: "l2" }), state("idle"))).slice(3), [
    "text: y",
    "me: mine",
  ]);
});

test("what was not delivered, was refused or could not be sent is back in the input line, before what is being written", () => {
  const queued = view(delta("x"), send("u2", "two"), echo("u2", "two"));
  const draft = then(queued, { act: "edit", editor: withText(queued.editor, "draft") });
  for (const end of [
    returned("u2"),
    fate("u2", "refused"),
    { act: "failed", id: "u2", reason: "the link is gone" } as Act,
  ]) {
    const back = then(draft, end);
    assert.equal(back.editor.text, "two\ndraft");
    assert.deepEqual(back.waiting, []);
    assert.match(lines(back).at(-1)!, /^error: Your message/);
  }
  assert.equal(
    then(queued, returned("u2"), done(), state("idle")).finished.filter(({ type }) => type === "user").length,
    0,
  );
  const others = view(delta("x"), echo("o1", "theirs"), returned("o1"));
  assert.deepEqual([others.waiting, others.editor.text], [[], ""], "another's goes back to them");
});

test("what is returned comes back in the order it was sent in, whatever the order it returns in, before what is being written", () => {
  const sent = view(delta("x"), send("u1", "one"), fate("u1", "queued"), send("u2", "two"), fate("u2", "steering"));
  const waits = then(sent, echo("u1", "one"), echo("u2", "two"), send("u3", "three"), echo("u3", "three"));
  const drafted = then(waits, { act: "edit", editor: withText(waits.editor, "draft\nof mine") });
  const back = then(drafted, returned("u1"), returned("u3"), returned("u2"));
  assert.equal(back.editor.text, "one\ntwo\nthree\ndraft\nof mine");
  assert.equal(then(waits, returned("u1"), returned("u2")).editor.text, "one\ntwo");
  const edited = then(
    drafted,
    returned("u3"),
    { act: "edit", editor: withText(waits.editor, "other") },
    returned("u1"),
  );
  assert.equal(edited.editor.text, "one\nother", "what was edited since is what is being written");
});

test("a steer is shown as one until the model is told it, before its next round, and not after its turn", () => {
  const steering = view(
    echo("m1", "go"),
    delta("a"),
    send("u1", "rather b"),
    fate("u1", "steering"),
    from("phone", "o1", "and c", { mode: "steer" }),
    echo("u1", "rather b"),
    from("phone", "o2", "then d", { mode: "queue" }),
  );
  assert.deepEqual(
    steering.waiting.map(({ text, state: is, from: who }) => [text, is, who]),
    [
      ["and c", "steering", "phone"],
      ["rather b", "steering", undefined],
      ["then d", "queued", "phone"],
    ],
  );
  const told = then(steering, call("c1"), result("c1"), delta("b it is", { round: 1 }));
  assert.deepEqual(lines(told), ["other: go", "text: a", "c1 → ok: of c1", "phone: and c", "me: rather b"]);
  const over = then(told, done(), state("running", "l2"));
  assert.deepEqual(lines(over).slice(5), ["text: b it is", "phone: then d"]);
  assert.deepEqual(over.waiting, []);
});

test("a steer whose loop ended is the next turn, before what was queued; one that was returned after all comes back", () => {
  const steering = view(echo("m1", "go"), delta("a"), send("u1", "later"), echo("u1", "later"), send("u2", "steer"));
  const both = then(steering, fate("u2", "steering"), echo("u2", "steer"));
  const next = then(both, done(), state("running", "l2"), delta("b", { loop_id: "l2" }), done({ loop_id: "l2" }));
  assert.deepEqual(lines(then(next, state("running", "l3"))), [
    "other: go",
    "text: a",
    "me: steer",
    "text: b",
    "me: later",
  ]);
  const shown = then(both, delta("next", { round: 1 }));
  assert.equal(lines(shown).at(-1), "me: steer");
  assert.equal(then(shown, returned("u2")).editor.text, "steer", "it had come too late for that round");
  const queued = then(both, fate("u2", "queued"));
  assert.deepEqual(
    queued.waiting.map(({ state: is }) => is),
    ["queued", "queued"],
  );
});

test("what replaces the running turn comes before all that waits", () => {
  const replaced = view(
    echo("m1", "go"),
    delta("a"),
    from("phone", "o1", "waits"),
    from("phone", "o2", "now this", { mode: "replace" }),
    done({ stop_reason: "interrupted" }),
    state("running", "l2"),
  );
  assert.deepEqual(lines(replaced), ["other: go", "text: a", "note: Interrupted.", "phone: now this"]);
  assert.deepEqual(
    replaced.waiting.map(({ text }) => text),
    ["waits"],
  );
});

test("whose interrupt it was is told, unless it was our own, or one of something else", () => {
  const interrupt = (at: object): Shown => ({ event_type: "interrupt", scope, from: "phone", ...at });
  const stopped = (...events: Shown[]) =>
    then(reduce(newView("local", "", "me"), delta("x")), ...events, done({ stop_reason: "interrupted" }));
  assert.equal(lines(stopped(interrupt({}))).at(-1), "note: Interrupted by phone.");
  for (const own of [{ from: "me" }, { scope: "local/~k" }, { scope: "other" }])
    assert.equal(lines(stopped(interrupt(own))).at(-1), "note: Interrupted.");
  const later = then(stopped(interrupt({})), delta("y", { loop_id: "l2" }));
  assert.equal(lines(then(later, done({ loop_id: "l2", stop_reason: "interrupted" }))).at(-1), "note: Interrupted.");
});

test("the state follows the scope: it runs, it waits for the person, it is idle", () => {
  assert.equal(status(view()), "idle");
  assert.equal(status(view(state("running", "l1"))), "thinking");
  assert.equal(status(view(state("running", "l1"), delta("x"))), "writing");
  assert.equal(status(view(state("running", "l1"), question("q1"))), "waiting for you");
  assert.equal(status(view(state("running", "l1"), delta("x"), done(), state("idle"))), "idle");
});

function question(id: string, at: object = {}): Shown {
  return { event_type: "input_strict", scope, id, prompt: `prompt of ${id}`, ...at };
}

test("a question is printed whole, an approval with its exact arguments, and closes when it is resolved", () => {
  const approval = { name: "rm", input: { path: "/x", list: [1, 2] }, tool_hash: "h" };
  const asked = view(question("q1", { approval, options: ["once", "deny"] }), question("q2"), question("q1"));
  assert.equal(asked.asking.length, 2);
  const first = asked.finished[0];
  assert.ok(first?.type === "question");
  assert.equal(first.title, "May rm run?");
  assert.ok(first.text.includes(JSON.stringify(approval.input, null, 2)));
  const closed = then(asked, { event_type: "input_resolved", scope, id: "q1", outcome: "accepted" });
  assert.deepEqual(
    closed.asking.map(({ question: { id } }) => id),
    ["q2"],
  );
  assert.equal(lines(closed).at(-1), "note: May rm run? accepted");
});

test("a question that is answered elsewhere closes and says by whom; of a call also what was decided", () => {
  const approval = { name: "rm", input: {}, tool_hash: "h" };
  const asked = then(
    newView("local", "", "me"),
    question("q1", { approval, options: ["once", "deny"] }),
    question("q2"),
  );
  const resolve = (id: string, more: object): Shown =>
    ({ event_type: "input_resolved", scope, id, outcome: "accepted", ...more }) as Shown;
  const closed = then(asked, resolve("q1", { by: "phone", choice: "deny" }), resolve("q2", { by: "me" }));
  assert.deepEqual(lines(closed).slice(2), [
    "note: May rm run? answered: deny (by phone)",
    "note: A question to you accepted",
  ]);
  assert.deepEqual(closed.asking, []);
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
  assert.deepEqual(lines(then(flooded, stop("whole"), done())), ["text: whole"]);
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
