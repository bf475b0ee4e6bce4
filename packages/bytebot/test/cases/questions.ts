import assert from "node:assert/strict";
import { BytebotError } from "../../src/sdk/index.ts";
import { toolsource, ui, type Answer, type Person } from "../transcripts/satellites.ts";
import { script } from "../transcripts/script.ts";
import { aborted, ask, calls, echo, fails, model, resultsIn, SCOPE, turn } from "./cast.ts";

/** What came of its calls, in its order. */
const results: Answer = (request, reply) => {
  reply.text(resultsIn(request).join(" | "));
  return { stop_reason: "end_turn" };
};
// Over every way the same: what was reached by URL would ask by itself.
const policy = [
  { tool: "*", decision: "allow" as const },
  { tool: "echo", decision: "ask" as const },
];

export const pending = script({
  name: "case-24-pending",
  about: "An approval that an interrupt ends, resolved at every UI: the call did not run, and the scope is usable.",
  app: { policy },
  cast: [
    model({ call: [calls(["echo", {}]), results] }),
    toolsource(() => [echo]),
    ui(
      async (person) => {
        const { id } = await person.sees("input_strict");
        const { outcome } = await person.sees("input_resolved", { id });
        assert.equal(outcome, "cancelled");
        const again = await person.sees("input_strict");
        await person.satellite.answer(again, "accepted", "deny");
        await aborted(person.satellite.signal);
      },
      { name: "desk", primary: false },
    ),
    ui(async (person) => {
      await person.say("call it");
      const { id } = await person.sees("input_strict");
      await person.satellite.interrupt(SCOPE);
      assert.equal((await person.sees("input_resolved", { id }))["outcome"], "cancelled");
      assert.notEqual((await person.sees("tool_result"))["status"], "ok");
      assert.equal((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"], "interrupted");
      await person.isDone();
      await person.say("call it again");
      const { by } = await person.sees("input_resolved");
      assert.equal(by, "desk");
      assert.equal((await person.sees("tool_result"))["status"], "denied");
      const told = await person.sees("infer_chunk", { kind: "block_stop", round: 1 });
      assert.match(JSON.stringify(told["block"]), /denied|declined|not/i, "the model is told why");
      await person.isDone();
      assert.equal((await turn(person, "hello"))["stop_reason"], "end_turn");
    }),
  ],
});

export const expires = script({
  name: "case-24-expires",
  about: "An approval that nobody answers expires, and denies the call with a reason for the model.",
  app: { policy, limits: { questionMs: 50 } },
  cast: [
    model({ call: [calls(["echo", {}]), results] }),
    toolsource(() => [echo]),
    ui(async (person) => {
      await person.say("call it");
      assert.equal((await person.sees("input_resolved"))["outcome"], "expired");
      assert.equal((await person.sees("tool_result"))["status"], "denied");
      assert.equal((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"], "end_turn");
      await person.isDone();
    }),
  ],
});

/** Answers at once; whether it was the first. */
async function answers(person: Person, value: string): Promise<boolean> {
  const question = await person.sees("input_strict");
  try {
    await person.satellite.answer(question, "accepted", value);
    return true;
  } catch (error) {
    assert.equal(BytebotError.from(error).code, "not_found", "it had been answered");
    return false;
  }
}

async function races(person: Person, name: string, value: string): Promise<void> {
  const first = await answers(person, value);
  const { by, outcome } = await person.sees("input_resolved");
  assert.deepEqual([outcome, by === name], ["accepted", first]);
  const said = JSON.stringify((await person.sees("tool_result"))["content"]);
  assert.equal(said.includes(`accepted ${value}`), first, said);
  await person.isDone();
}

export const race = script({
  name: "case-25-race",
  about:
    "One UI says yes and another no at once: the first counts, everybody is told which, and the tool hears it once.",
  cast: [
    model({ ask: [calls(["ask", { what: "it" }]), results] }),
    toolsource(() => [ask]),
    ui(
      async (person) => {
        for (let round = 0; round < 5; round++) await races(person, "desk", "no");
        await aborted(person.satellite.signal);
      },
      { name: "desk", primary: false },
    ),
    ui(async (person) => {
      for (let round = 0; round < 5; round++) {
        await person.say("ask us");
        await races(person, "ui", "yes");
      }
    }),
  ],
});

export const late = script({
  name: "case-25-late",
  about: "A UI that comes while a question is open is asked it too; of three calls one is refused and one fails.",
  app: { policy },
  cast: [
    model({ three: [calls(["echo", { what: "a" }], ["fails", {}], ["ask", { what: "c" }]), results] }),
    toolsource(() => [echo, fails, ask]),
    ui(
      async (person) => {
        await person.say("three at once");
        await aborted(person.satellite.signal);
      },
      { name: "first", primary: false },
    ),
    {
      ...ui(async (person) => {
        for (let count = 0; count < 2; count++) {
          const question = await person.sees("input_strict");
          await person.satellite.answer(question, "accepted", question.approval ? "deny" : "yes");
        }
        const { block } = await person.sees("infer_chunk", { kind: "block_stop", round: 1 });
        const [a, b, c] = (block as { text: string }).text.split(" | ");
        assert.match(a!, /denied|declined|not/i);
        assert.equal(b, "it is broken");
        assert.equal(c, "c: accepted yes");
        await person.isDone();
        const ran = person.came.filter(({ event_type }) => event_type === "tool_result");
        assert.ok(ran.length <= 3, "nothing ran again");
      }),
      seen: "input_strict",
    },
  ],
});
