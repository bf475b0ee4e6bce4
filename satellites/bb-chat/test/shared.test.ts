import assert from "node:assert/strict";
import { test } from "node:test";
import { withText } from "../src/editor.ts";
import { newView } from "../src/state.ts";
import { reduce, type Act, type Shown } from "../src/view.ts";
import {
  view,
  plus,
  lines,
  scope,
  delta,
  done,
  state,
  call,
  result,
  echo,
  from,
  send,
  fate,
  returned,
  question,
} from "./events.ts";

test("our input is printed where the Hub's echo puts it, once, whether its acknowledgement comes before or after", () => {
  const waiting = view(send("u1", "hi"));
  assert.deepEqual([lines(waiting), waiting.waiting.map(({ state: at }) => at)], [[], ["sending"]]);
  assert.deepEqual(lines(plus(waiting, echo("u1", "hi"), fate("u1", "started"))), ["me: hi"]);
  assert.deepEqual(lines(plus(waiting, fate("u1", "started"), state("running", "l1"), echo("u1", "hi"))), ["me: hi"]);
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
  const next = plus(queued, delta("swer"), done(), state("running"));
  assert.deepEqual([lines(next), next.waiting], [["me: one", "text: answer", "me: two"], []]);
});

test("an input that is sent while a turn runs of which nothing else was seen waits for the end of it", () => {
  const late = view(state("running", "l0"), send("u1", "mine"), fate("u1", "queued"), echo("u1", "mine"));
  assert.deepEqual([lines(late), late.waiting.map(({ text }) => text)], [[], ["mine"]]);
  assert.deepEqual(lines(plus(late, done({ loop_id: "l0" }), state("running", "l1"))), ["me: mine"]);
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
  assert.deepEqual(lines(plus(other, delta("y", { loop_id: "l2" }), done({ loop_id: "l2" }), state("idle"))).slice(3), [
    "text: y",
    "me: mine",
  ]);
});

test("what was not delivered, was refused or could not be sent is back in the input line, before what is being written", () => {
  const queued = view(delta("x"), send("u2", "two"), echo("u2", "two"));
  const draft = plus(queued, { act: "edit", editor: withText(queued.editor, "draft") });
  for (const end of [
    returned("u2"),
    fate("u2", "refused"),
    { act: "failed", id: "u2", reason: "the link is gone" } as Act,
  ]) {
    const back = plus(draft, end);
    assert.equal(back.editor.text, "two\ndraft");
    assert.deepEqual(back.waiting, []);
    assert.match(lines(back).at(-1)!, /^error: Your message/);
  }
  assert.equal(
    plus(queued, returned("u2"), done(), state("idle")).finished.filter(({ type }) => type === "user").length,
    0,
  );
  const others = view(delta("x"), echo("o1", "theirs"), returned("o1"));
  assert.deepEqual([others.waiting, others.editor.text], [[], ""], "another's goes back to them");
});

test("what is returned comes back in the order it was sent in, whatever the order it returns in, before what is being written", () => {
  const sent = view(delta("x"), send("u1", "one"), fate("u1", "queued"), send("u2", "two"), fate("u2", "steering"));
  const waits = plus(sent, echo("u1", "one"), echo("u2", "two"), send("u3", "three"), echo("u3", "three"));
  const drafted = plus(waits, { act: "edit", editor: withText(waits.editor, "draft\nof mine") });
  const back = plus(drafted, returned("u1"), returned("u3"), returned("u2"));
  assert.equal(back.editor.text, "one\ntwo\nthree\ndraft\nof mine");
  assert.equal(plus(waits, returned("u1"), returned("u2")).editor.text, "one\ntwo");
  const edited = plus(
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
  const told = plus(steering, call("c1"), result("c1"), delta("b it is", { round: 1 }));
  assert.deepEqual(lines(told), ["other: go", "text: a", "c1 → ok: of c1", "phone: and c", "me: rather b"]);
  const over = plus(told, done(), state("running", "l2"));
  assert.deepEqual(lines(over).slice(5), ["text: b it is", "phone: then d"]);
  assert.deepEqual(over.waiting, []);
});

test("a steer whose loop ended is the next turn, before what was queued; one that was returned after all comes back", () => {
  const steering = view(echo("m1", "go"), delta("a"), send("u1", "later"), echo("u1", "later"), send("u2", "steer"));
  const both = plus(steering, fate("u2", "steering"), echo("u2", "steer"));
  const next = plus(both, done(), state("running", "l2"), delta("b", { loop_id: "l2" }), done({ loop_id: "l2" }));
  assert.deepEqual(lines(plus(next, state("running", "l3"))), [
    "other: go",
    "text: a",
    "me: steer",
    "text: b",
    "me: later",
  ]);
  const shown = plus(both, delta("next", { round: 1 }));
  assert.equal(lines(shown).at(-1), "me: steer");
  assert.equal(plus(shown, returned("u2")).editor.text, "steer", "it had come too late for that round");
  const queued = plus(both, fate("u2", "queued"));
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
    plus(reduce(newView("local", "", "me"), delta("x")), ...events, done({ stop_reason: "interrupted" }));
  assert.equal(lines(stopped(interrupt({}))).at(-1), "note: Interrupted by phone.");
  // The record of one that reached several cells stops nothing: it may come when the next turn runs (INT-6).
  assert.equal(lines(stopped(interrupt({ id: "s1", reached: ["local", "local/b"] }))).at(-1), "note: Interrupted.");
  for (const own of [{ from: "me" }, { scope: "local/~k" }, { scope: "other" }])
    assert.equal(lines(stopped(interrupt(own))).at(-1), "note: Interrupted.");
  const later = plus(stopped(interrupt({})), delta("y", { loop_id: "l2" }));
  assert.equal(lines(plus(later, done({ loop_id: "l2", stop_reason: "interrupted" }))).at(-1), "note: Interrupted.");
});

test("where a question closes while an answer is being typed, the next Enter is in doubt; where none was, it is not", () => {
  const resolve: Shown = { event_type: "input_resolved", scope, id: "q1", outcome: "accepted", by: "phone" };
  const asked = view(question("q1"));
  const [asking] = asked.asking;
  const typed = { ...asking!.entries[0]!, answer: withText(asked.editor, "ye") };
  const half: Act = { act: "enter", id: "q1", change: { entries: [typed] } };
  const sent: Act = { act: "enter", id: "q1", change: { entries: [typed], answered: true } };
  assert.deepEqual(
    [plus(asked, resolve), plus(asked, half, resolve), plus(asked, sent, resolve)].map(({ unsure }) => unsure),
    [false, true, false],
  );
});

test("a question that is answered elsewhere closes and says by whom; of a call also what was decided", () => {
  const approval = { name: "rm", input: {}, tool_hash: "h" };
  const asked = plus(
    newView("local", "", "me"),
    question("q1", { approval, options: ["once", "deny"] }),
    question("q2"),
  );
  const resolve = (id: string, more: object): Shown =>
    ({ event_type: "input_resolved", scope, id, outcome: "accepted", ...more }) as Shown;
  const closed = plus(asked, resolve("q1", { by: "phone", choice: "deny" }), resolve("q2", { by: "me" }));
  assert.deepEqual(lines(closed).slice(2), [
    "note: May rm run? answered: deny (by phone)",
    "note: A question to you accepted",
  ]);
  assert.deepEqual(closed.asking, []);
});
