import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { z } from "zod";
import { BytebotError, defineTool, type Tool } from "../../../src/sdk/index.ts";
import { aborted, calls, context, infer, says, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

const shipIt = ui(async (person) => {
  await person.say("ship it");
  await person.isDone();
});

export const parallelTools = script({
  name: "parallel-tools",
  about:
    "Three calls of one round run at once and end in another order; their results stand in the order of the calls.",
  cast: [
    context(),
    infer(calls(["build", {}], ["test", {}], ["lint", {}]), says("All three are done.")),
    toolsource(() => {
      const ended = {
        build: Promise.withResolvers<void>(),
        test: Promise.withResolvers<void>(),
        lint: Promise.withResolvers<void>(),
      };
      const tool = (name: keyof typeof ended, behind?: keyof typeof ended): Tool =>
        defineTool({
          name,
          input: z.object({}),
          run: async () => {
            if (behind) await ended[behind].promise;
            ended[name].resolve();
            return `${name} has ended`;
          },
        });
      return [tool("build", "lint"), tool("test", "build"), tool("lint")];
    }),
    shipIt,
  ],
});

export const toolError = script({
  name: "tool-error",
  about:
    "Calls that go wrong: the tool fails; its arguments do not fit, are not JSON; there is no such tool; it does not answer in time. The model is told, and the turn goes on.",
  cast: [
    context(),
    infer(
      calls(["read", { path: "b.txt" }], ["read", { path: 7 }], ["read", '{"path":'], ["erase", {}]),
      calls(["wait", {}]),
      calls(["look", {}]),
      says("None of it went well."),
    ),
    toolsource(() => {
      const stopped = Promise.withResolvers<void>();
      return [
        defineTool({
          name: "read",
          input: z.object({ path: z.string() }),
          run: ({ path }) => {
            throw new BytebotError("not_found", `There is no file ${path}.`);
          },
        }),
        defineTool({
          name: "wait",
          input: z.object({}),
          timeoutMs: 100,
          run: async (_input, { signal }) => {
            await aborted(signal);
            stopped.resolve();
            throw new BytebotError("cancelled", "It was told to stop.");
          },
        }),
        defineTool({
          name: "look",
          input: z.object({}),
          run: async () => {
            await stopped.promise;
            // What the other one still answers has left by then.
            await turnOfTheLoop();
            return "nothing there";
          },
        }),
      ];
    }),
    shipIt,
  ],
});

export const loopLimit = script({
  name: "loop-limit",
  about: "A model that makes the same call again and again: the Hub ends its loop.",
  app: { limits: { sameCalls: 2 } },
  cast: [
    context(),
    infer(calls(["look", {}]), calls(["look", {}]), calls(["look", {}])),
    toolsource(() => [defineTool({ name: "look", input: z.object({}), run: () => "nothing there" })]),
    shipIt,
  ],
});
