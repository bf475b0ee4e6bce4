import { aborted, context, infer, says, saysUntilStopped, SCOPE, ui } from "../satellites.ts";
import { script } from "../script.ts";

export const replay = script({
  name: "replay",
  about:
    "A UI leaves; while it is away a turn ends and another one begins; it comes back with its cursor and gets what it missed, the text so far, and what happens then.",
  app: { limits: { graceMs: 30_000 } },
  cast: [
    context(),
    infer(says("One is done."), says("Two is done."), saysUntilStopped("Three takes")),
    ui(
      async (person) => {
        await person.say("one");
        await person.isDone();
      },
      { name: "web" },
    ),
    {
      ...ui(
        async (person) => {
          await person.say("two");
          await person.isDone();
          await person.say("three");
          await person.sees("infer_chunk", { kind: "block_delta", delta: "Three takes" });
        },
        { name: "desk" },
      ),
      after: "web",
    },
    {
      ...ui(
        async (person) => {
          await person.sees("bb_live");
          await person.satellite.interrupt(SCOPE, "enough");
          await person.isDone();
        },
        { name: "web-again" },
      ),
      after: "desk",
      resumes: "web",
    },
  ],
});

export const slowReader = script({
  name: "slow-reader",
  about: "Two UIs see the same turn: one keeps up, and for the one that is behind the deltas of a block are merged.",
  cast: [
    context(),
    infer(says("All ", "is ", "well ", "here.")),
    { ...ui((person) => aborted(person.satellite.signal), { name: "slow", primary: false }), behind: true },
    ui(async (person) => {
      await person.say("how is it?");
      await person.isDone();
    }),
  ],
});
