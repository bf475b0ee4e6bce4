import { z } from "zod";
import { defineTool } from "../../../src/sdk/index.ts";
import { calls, context, infer, says, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

/** The seed's turn: what one-turn.jsonl says of it is in this one's trace. */
export const twoRounds = script({
  name: "two-rounds",
  about: "A message, a tool call, its result, and the answer: two rounds of one turn.",
  cast: [
    context(),
    infer(calls(["create-user-file", { path: "a.txt" }]), says("Done. ", "a.txt is there.")),
    toolsource(() => [
      defineTool({
        name: "create-user-file",
        description: "Writes a file.",
        input: z.object({ path: z.string() }),
        run: ({ path }, call) => {
          call.progress("writing", 0.5);
          return `${path}: 12 bytes written`;
        },
      }),
    ]),
    ui(async (person) => {
      await person.say("ship it");
      await person.isDone();
    }),
  ],
});
