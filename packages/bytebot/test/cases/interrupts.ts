import assert from "node:assert/strict";
import * as bb from "../../src/sdk/index.ts";
import { toolsource, ui, type Answer, type Person } from "../transcripts/satellites.ts";
import { script, type Role } from "../transcripts/script.ts";
import { aborted, calls, deaf, echo, hold, model, says, SCOPE, silent, stream, turn } from "./cast.ts";

const thinks: Answer = async (_request, reply, { signal }) => {
  reply.thinking("Hm, ");
  await aborted(signal);
  throw new bb.BytebotError("cancelled", "stopped");
};
const halfACall: Answer = async (_request, reply, { signal }) => {
  reply.toolUse({ name: "hold" }).delta('{"wh');
  await aborted(signal);
  throw new bb.BytebotError("cancelled", "stopped");
};
/** Says to everybody that it fails now, and is asked again only in a minute. */
const failsForNow: Answer = async (_request, _reply, { satellite }) => {
  satellite.send({ event_type: "test.example/fails", scope: SCOPE });
  throw new bb.BytebotError("overloaded", "come back later", { retryable: true, retryAfterMs: 59_000 });
};

/** By the word that begins it: what is seen of the moment in which the interrupt comes. */
const moments: [word: string, sees: (person: Person) => Promise<unknown>][] = [
  ["nothing", (person) => person.sees("scope_state", { state: "running" })],
  ["think", (person) => person.sees("infer_chunk", { kind: "block_delta", block_type: "thinking" })],
  ["write", (person) => person.sees("infer_chunk", { kind: "block_delta", block_type: "text" })],
  ["half", (person) => person.sees("infer_chunk", { kind: "block_delta", block_type: "tool_use" })],
  ["hold", (person) => person.sees("tool_progress")],
  ["render", (person) => person.sees("tool_result")],
  ["fail", (person) => person.sees("test.example/fails")],
];

/** A context that renders what the Hub has, but never the round after a call of "echo". */
const slowContext: Role = {
  name: "context",
  kind: "context",
  main: async ({ signal }) => {
    const satellite = await bb.sync({ kind: "context", controller: true, signal });
    satellite.onRender(async ({ history, round }: bb.ContextRenderRequestEvent, { signal: stop }) => {
      if (round === 1 && JSON.stringify(history.at(-1)).includes("tool_result")) await aborted(stop);
      return {};
    });
    await satellite.start();
  },
};

export const interrupts = script({
  name: "case-17-interrupts",
  about: "An interrupt at each moment of a turn: one end, one result a call, and the next message is answered.",
  app: { limits: { graceMs: 30_000 } },
  cast: [
    slowContext,
    model({
      nothing: [stream],
      think: [thinks],
      write: [stream],
      half: [halfACall],
      hold: [calls(["hold", {}])],
      render: [calls(["echo", {}])],
      fail: [failsForNow],
    }),
    toolsource(() => [hold, echo]),
    ui(async (person) => {
      await person.satellite.interrupt(SCOPE, "before anything");
      for (const [word, sees] of moments) {
        const from = person.came.length;
        await person.say(`${word} now`);
        await sees(person);
        await person.satellite.interrupt(SCOPE, "enough");
        const end = await person.sees("infer_chunk", { kind: "loop_done" });
        assert.equal(end["stop_reason"], "interrupted", word);
        await person.isDone();
        const of = (type: string) => person.came.slice(from).filter(({ event_type }) => event_type === type);
        const ids = (type: string) => of(type).map(({ call_id }) => call_id);
        const [called, ended] = [ids("tool_call"), ids("tool_result")];
        assert.equal(new Set(ended).size, ended.length, `${word}: each call has one result`);
        assert.deepEqual(new Set(ended), new Set(called), word);
        assert.equal((await turn(person, "hello"))["stop_reason"], "end_turn", word);
        assert.equal(of("infer_chunk").filter(({ kind }) => kind === "loop_done").length, 2, word);
      }
    }),
  ],
});

export const graces = script({
  name: "case-18-deaf",
  about: "An infer that is silent for good and a tool that ignores the interrupt: the turn ends within the grace.",
  app: { limits: { graceMs: 100 } },
  cast: [
    model({ nothing: [silent], deaf: [calls(["deaf", {}]), says("I see.")] }),
    toolsource(() => [deaf]),
    ui(async (person) => {
      await person.say("nothing");
      await person.sees("scope_state", { state: "running" });
      await person.satellite.interrupt(SCOPE);
      assert.equal((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"], "interrupted");
      await person.isDone();
      await person.say("deaf");
      await person.sees("tool_progress");
      await person.satellite.interrupt(SCOPE);
      const { content, status } = await person.sees("tool_result");
      assert.notEqual(status, "ok");
      assert.match(JSON.stringify(content), /is not known|is unknown/, "nobody knows whether it took effect");
      assert.equal((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"], "interrupted");
      await person.isDone();
      assert.equal((await turn(person, "hello"))["stop_reason"], "end_turn");
    }),
  ],
});

export const loops = script({
  name: "case-40-loop",
  about: "The same call again and again: the loop guard ends it with the reason, and the next message is answered.",
  cast: [
    model({ again: [calls(["echo", { what: "the same" }])] }),
    toolsource(() => [echo]),
    ui(async (person) => {
      const end = await turn(person, "again");
      assert.equal(end["stop_reason"], "error");
      assert.match(JSON.stringify(end["error"]), /loop_limit.*more than 5 times in a row/);
      const ran = person.came.filter(({ event_type, status }) => event_type === "tool_result" && status === "ok");
      assert.equal(ran.length, 5);
      assert.equal((await turn(person, "hello"))["stop_reason"], "end_turn");
    }),
  ],
});
