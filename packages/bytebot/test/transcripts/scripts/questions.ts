import { z } from "zod";
import { defineTool } from "../../../src/sdk/index.ts";
import { aborted, calls, context, infer, says, SCOPE, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

export const question = script({
  name: "question",
  about:
    "A tool asks the person: an answer that is none of the options is refused, the first valid one counts, and a second UI comes too late.",
  cast: [
    context(),
    infer(calls(["write", { path: "a.txt" }]), says("Overwritten.")),
    toolsource(() => [
      defineTool({
        name: "write",
        input: z.object({ path: z.string() }),
        run: async ({ path }, call) => {
          const { outcome, value } = await call.ask({ prompt: `Overwrite ${path}?`, options: ["yes", "no"] });
          return `${outcome}: ${String(value)}`;
        },
      }),
    ]),
    ui(
      async (person) => {
        const asked = await person.sees("input_strict");
        await person.isDone();
        await person.satellite.answer(asked, "declined").catch(() => undefined);
        person.satellite.send({ event_type: "com.example/waved", scope: SCOPE });
        await aborted(person.satellite.signal);
      },
      { name: "desk", primary: false },
    ),
    ui(async (person) => {
      await person.say("ship it");
      const asked = await person.sees("input_strict");
      await person.satellite.answer(asked, "accepted", "perhaps").catch(() => undefined);
      await person.satellite.answer(asked, "accepted", "yes");
      await person.sees("com.example/waved");
    }),
  ],
});

export const approval = script({
  name: "approval",
  about:
    "A policy that asks before a tool runs: denied, allowed once, then for the conversation, after which nobody is asked.",
  app: { policy: [{ tool: "*", decision: "ask" }] },
  cast: [
    context(),
    infer(
      calls(["erase", { path: "a.txt" }]),
      calls(["erase", { path: "b.txt" }]),
      calls(["erase", { path: "b.txt" }]),
      calls(["erase", { path: "b.txt" }]),
      says("Erased."),
    ),
    toolsource(() => [
      defineTool({
        name: "erase",
        description: "Erases a file for good.",
        annotations: { destructive: true },
        input: z.object({ path: z.string() }),
        run: ({ path }) => `${path} is gone`,
      }),
    ]),
    ui(async (person) => {
      await person.say("tidy up");
      for (const choice of ["deny", "once", "scope"]) {
        const asked = await person.sees("input_strict");
        await person.satellite.answer(asked, "accepted", choice);
      }
      await person.isDone();
    }),
  ],
});
