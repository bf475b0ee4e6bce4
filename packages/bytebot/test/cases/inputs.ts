import assert from "node:assert/strict";
import { toolsource, ui, type Answer } from "../transcripts/satellites.ts";
import { script } from "../transcripts/script.ts";
import { aborted, ask, calls, hold, model, says, SCOPE, stream, turn, wordsIn } from "./cast.ts";

const three = (name: string) => calls([name, { what: "a" }], [name, { what: "b" }], [name, { what: "c" }]);
/** What it was told, all of it. */
const all: Answer = (request, reply) => {
  reply.text(wordsIn(request).join(" | "));
  return { stop_reason: "end_turn" };
};

export const steers = script({
  name: "case-19-steer",
  about:
    "A steer during three parallel calls is told the model once; interrupted before that, it returns to its sender.",
  app: { limits: { graceMs: 30_000 } },
  cast: [
    model({ hold: [three("hold")], ask: [three("ask")], rather: [all], all: [all] }),
    toolsource(() => [hold, ask]),
    ui(async (person) => {
      await person.say("hold three");
      for (let count = 0; count < 3; count++) await person.sees("tool_progress");
      const { fate } = await person.say("rather this", { id: "steer_1", mode: "steer" });
      assert.equal(fate, "steering");
      await person.satellite.interrupt(SCOPE);
      assert.equal((await person.sees("input_state"))["id"], "steer_1");
      assert.equal((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"], "interrupted");
      await person.isDone();

      await person.say("ask three");
      const asked = [];
      for (let count = 0; count < 3; count++) asked.push(await person.sees("input_strict"));
      assert.equal((await person.say("rather that", { mode: "steer" }))["fate"], "steering");
      for (const question of asked) await person.satellite.answer(question, "accepted", "yes");
      const { block } = await person.sees("infer_chunk", { kind: "block_stop", round: 1 });
      assert.deepEqual((block as { text: string }).text.split(" | "), ["hold three", "ask three", "rather that"]);
      await person.isDone();
    }),
  ],
});

const BURST = 5;
const MOST = 3 * BURST;

/** Two people at once; who speaks is told by the other's first word, not by a clock. */
export const bursts = script({
  name: "case-20-bursts",
  about:
    "Two UIs send in bursts while a turn runs: one order for all, each answered once, and a full queue says refused.",
  app: { limits: { queue: MOST } },
  cast: [
    model({ hold: [stream], all: [all] }),
    ui(
      async (person) => {
        await person.sees("infer_chunk", { kind: "block_delta" });
        const sent = Array.from({ length: BURST }, (_, n) => person.say(`all from desk ${n}`));
        for (const { fate } of await Promise.all(sent)) assert.equal(fate, "queued");
        await person.sees("infer_chunk", { kind: "loop_done", stop_reason: "interrupted" });
        await aborted(person.satellite.signal);
      },
      { name: "desk", primary: false },
    ),
    ui(async (person) => {
      await person.say("hold on");
      await person.sees("infer_chunk", { kind: "block_delta" });
      const texts = Array.from({ length: BURST }, (_, n) => `all from ui ${n}`);
      const acks = await Promise.all(texts.map((text, n) => person.say(text, { id: `same_${n}` })));
      // Again, as after a lost acknowledgement: the same answer, and nothing happens twice.
      const again = await Promise.all(texts.map((text, n) => person.say(text, { id: `same_${n}` })));
      assert.deepEqual(
        again.map(({ seq, fate }) => [seq, fate]),
        acks.map(({ seq, fate }) => [seq, fate]),
      );
      const echoes = () =>
        person.came.filter(({ event_type, text }) => event_type === "user_event" && text !== "hold on");
      while (echoes().length < 2 * BURST) await person.sees("user_event");
      for (let n = 0; n < BURST; n++) await person.say(`all more ${n}`);
      assert.equal((await person.say("all too much"))["fate"], "refused");
      assert.equal((await person.say("not now", { mode: "refuse" }))["fate"], "refused");
      await person.satellite.interrupt(SCOPE);
      for (let n = 0; n < MOST; n++) await person.sees("input_state", { fate: "returned" });
      await person.isDone();
      const order = echoes().map(({ text }) => text);
      assert.deepEqual(
        order.filter((text) => String(text).startsWith("all from desk")),
        Array.from({ length: BURST }, (_, n) => `all from desk ${n}`),
        "each sender's in its order",
      );
      const returned = person.came.filter(({ event_type }) => event_type === "input_state").map(({ id }) => id);
      assert.deepEqual(
        returned,
        echoes().map(({ id }) => id),
        "each once, in the Hub's order",
      );

      await person.say("hold again");
      await person.sees("infer_chunk", { kind: "block_delta" });
      await person.say("waits");
      // What takes its place comes first, and what waits stays.
      assert.equal((await person.say("all of it", { mode: "replace" }))["fate"], "queued");
      const ends = [];
      for (let n = 0; n < 3; n++) ends.push((await person.sees("infer_chunk", { kind: "loop_done" }))["stop_reason"]);
      assert.deepEqual(ends, ["interrupted", "end_turn", "end_turn"]);
      await person.isDone();
      assert.equal((await turn(person, "hello"))["stop_reason"], "end_turn");
    }),
  ],
});

export const leaves = script({
  name: "case-23-leaves",
  about: "The UI leaves in mid-turn: the turn goes on, and is whole when it is back.",
  cast: [
    model({ ask: [calls(["ask", { what: "time" }]), says("All of it.")] }),
    toolsource(() => [ask]),
    ui(
      async (person) => {
        await person.say("ask me");
        await person.sees("input_strict");
      },
      { name: "ui" },
    ),
    {
      ...ui(
        async (person) => {
          const question = await person.sees("input_strict");
          await person.sees("bb_live");
          await person.satellite.answer(question, "accepted", "yes");
          const shown = await person.sees("tool_result");
          assert.match(JSON.stringify(shown["content"]), /time: accepted yes/);
          const { block } = await person.sees("infer_chunk", { kind: "block_stop", round: 1 });
          assert.equal((block as { text: string }).text, "All of it.");
          await person.isDone();
          const seqs = person.came.map(({ seq }) => seq).filter((seq) => typeof seq === "number");
          assert.deepEqual(
            seqs,
            [...new Set(seqs)].sort((a, b) => a - b),
            "each once and in order",
          );
        },
        { name: "back" },
      ),
      after: "ui",
      resumes: "ui",
    },
  ],
});
