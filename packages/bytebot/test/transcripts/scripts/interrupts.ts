import { z } from "zod";
import { BytebotError, defineTool } from "../../../src/sdk/index.ts";
import { aborted, calls, context, infer, says, saysUntilStopped, SCOPE, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

/** Long: whoever is told to stop is waited for, however slow its machine is. */
const limits = { graceMs: 30_000 };

export const interruptText = script({
  name: "interrupt-text",
  about: "The person interrupts while the model writes: the text that was seen stays, and the next turn knows of it.",
  app: { limits },
  cast: [
    context(),
    infer(saysUntilStopped("Once upon a time"), says("As you like.")),
    ui(async (person) => {
      await person.say("tell me a long story");
      await person.sees("infer_chunk", { kind: "block_delta" });
      await person.satellite.interrupt(SCOPE, "enough");
      await person.isDone();
      await person.say("never mind");
      await person.isDone();
    }),
  ],
});

export const interruptTool = script({
  name: "interrupt-tool",
  about:
    "The person interrupts while a tool runs and another message waits: the tool says what it did, the message is returned.",
  app: { limits },
  cast: [
    context(),
    infer(calls(["deploy", { to: "production" }])),
    toolsource(() => [
      defineTool({
        name: "deploy",
        input: z.object({ to: z.string() }),
        run: async (_input, call) => {
          call.progress("one of two is done");
          await aborted(call.signal);
          throw new BytebotError("cancelled", "Stopped after one of two.");
        },
      }),
    ]),
    ui(async (person) => {
      await person.say("ship it");
      await person.sees("tool_progress");
      await person.say("and tell the others");
      await person.satellite.interrupt(SCOPE);
      await person.isDone();
    }),
  ],
});
