import assert from "node:assert/strict";
import { BytebotError } from "../../src/sdk/index.ts";
import { toolsource, ui, type Answer } from "../transcripts/satellites.ts";
import { script, type Script } from "../transcripts/script.ts";
import { calls, echo, model, resultsIn, says, SCOPE, silent } from "./cast.ts";

/** Two lives of a Hub: the first is killed when its last one has left, the second begins with what it has left. */
export type Lives = readonly [before: Script, after: Script];

const results: Answer = (request, reply) => {
  reply.text(resultsIn(request).join(" | "));
  return { stop_reason: "end_turn" };
};

const accepted: Lives = [
  script({
    name: "case-21-before",
    about: "A Hub is killed between what it accepted and what it has started.",
    reports: /./,
    cast: [
      model({ first: [silent] }),
      ui(async (person) => {
        assert.equal((await person.say("first", { id: "m_1" }))["fate"], "started");
        assert.equal((await person.say("second", { id: "m_2" }))["fate"], "queued");
      }),
    ],
  }),
  script({
    name: "case-21-after",
    about: "The next one answers each once, in their order, and takes nothing twice.",
    cast: [
      model({ first: [says("one")], second: [says("two")] }),
      ui(
        async (person) => {
          const again = person.say("second", { id: "m_2" });
          for (const text of ["one", "two"]) {
            const { block } = await person.sees("infer_chunk", { kind: "block_stop" });
            assert.equal((block as { text: string }).text, text);
            await person.sees("infer_chunk", { kind: "loop_done", stop_reason: "end_turn" });
          }
          assert.equal((await again)["fate"], "queued");
          await person.satellite.request({ event_type: "bb_ping" });
          const said = person.came.filter(({ event_type }) => event_type === "user_event").map(({ text }) => text);
          assert.deepEqual(said, ["first", "second"]);
        },
        { resume: "start" },
      ),
    ],
  }),
];

const policy = [{ tool: "echo", decision: "ask" as const }];
const caller = model({ call: [calls(["echo", {}]), results] });

const approval: Lives = [
  script({
    name: "case-24-before",
    about: "A Hub is killed while a question about a call is open.",
    reports: /./,
    app: { policy },
    cast: [
      caller,
      toolsource(() => [echo]),
      ui(async (person) => {
        await person.say("call it");
        await person.sees("input_strict");
      }),
    ],
  }),
  script({
    name: "case-24-after",
    about: "It is still open at the next one, and its answer counts once.",
    app: { policy },
    cast: [
      caller,
      toolsource(() => [echo]),
      ui(async (person) => {
        const question = await person.sees("input_strict", { scope: SCOPE });
        await person.sees("bb_live");
        await person.satellite.answer(question, "accepted", "once");
        const late = await person.satellite.answer(question, "accepted", "deny").catch((error: unknown) => error);
        assert.equal(BytebotError.from(late).code, "not_found");
        assert.equal((await person.sees("tool_result"))["status"], "ok");
        const { block } = await person.sees("infer_chunk", { kind: "block_stop", round: 1 });
        assert.equal((block as { text: string }).text, "it");
        await person.isDone();
        assert.equal(person.came.filter(({ event_type }) => event_type === "tool_result").length, 1);
      }),
    ],
  }),
];

export const restarts: readonly Lives[] = [accepted, approval];
