import { z } from "zod";
import { defineTool } from "../../../src/sdk/index.ts";
import { calls, context, infer, says, saysUntilStopped, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

export const inputModes = script({
  name: "input-modes",
  about:
    "Input while a turn runs: steering goes into its next round, queued waits for its own turn, refused is gone, and replacing ends the turn that runs.",
  app: { limits: { graceMs: 30_000 } },
  cast: [
    context(),
    infer(
      calls(["confirm", {}]),
      says("One and two are done."),
      saysUntilStopped("Three takes"),
      says("Five is done."),
    ),
    toolsource(() => [
      defineTool({
        name: "confirm",
        input: z.object({}),
        run: async (_input, call) => (await call.ask({ prompt: "Go on?", options: ["yes"] })).outcome,
      }),
    ]),
    ui(async (person) => {
      await person.say("one");
      const asked = await person.sees("input_strict");
      await person.say("two", { mode: "steer" });
      await person.say("three", { mode: "queue" });
      await person.say("four", { mode: "refuse" });
      await person.satellite.answer(asked, "accepted", "yes");
      await person.sees("infer_chunk", { kind: "block_delta", delta: "Three takes" });
      await person.say("five", { mode: "replace" });
      await person.isDone();
    }),
  ],
});

export const childTurn = script({
  name: "child-turn",
  about: "A tool asks for a turn of its own, in a scope below its call's, and gets the model's answer.",
  cast: [
    context(),
    infer(calls(["review", { path: "a.txt" }]), says("Looks right."), says("It was reviewed.")),
    toolsource((satellite) => [
      defineTool({
        name: "review",
        input: z.object({ path: z.string() }),
        run: async ({ path }, { scope, callId, signal }) => {
          const asked = {
            event_type: "bb_turn_request",
            scope: `${scope}/~review`,
            call_id: callId,
            content: `Review ${path}.`,
          };
          const { content } = await satellite.request(asked, { signal });
          return content as object[];
        },
      }),
    ]),
    ui(async (person) => {
      await person.say("ship it");
      await person.isDone();
    }),
  ],
});
