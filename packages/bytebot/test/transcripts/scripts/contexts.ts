import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import * as bb from "../../../src/sdk/index.ts";
import { aborted, context, infer, says, ui } from "../satellites.ts";
import { script } from "../script.ts";

const twice = ui(async (person) => {
  await person.say("ship it");
  await person.isDone();
  await person.say("once more");
  await person.isDone();
});

export const lateContext = script({
  name: "late-context",
  about:
    "A context that does not answer in time: the turn ends as unavailable, its answer changes nothing, and the next turn is as ever.",
  // Long enough for the second render, which is answered at once, on a busy machine.
  app: { limits: { renderMs: 1500 } },
  cast: [
    context(() => {
      const late = Promise.withResolvers<void>();
      return async (count, { signal }) => {
        if (count === 0) {
          await aborted(signal);
          late.resolve();
          throw new bb.BytebotError("cancelled", "It was told to stop.");
        }
        await late.promise;
        // The late answer has left by then.
        await turnOfTheLoop();
        return {};
      };
    }),
    infer(says("Done.")),
    twice,
  ],
});

export const deadContext = script({
  name: "dead-context",
  about: "A context that leaves in the middle of a render: its turn ends as unavailable, and so does the next.",
  // Where it is elsewhere, and is dialled again.
  reports: /^context (ended: it said bye|could not be)/,
  cast: [
    {
      name: "context",
      kind: "context",
      main: async ({ signal }) => {
        const satellite = await bb.sync({ kind: "context", controller: true, signal });
        satellite.onRender(async () => {
          await satellite.close("it is broken");
          return {};
        });
        await satellite.start();
      },
    },
    infer(),
    twice,
  ],
});

export const failedInference = script({
  name: "failed-inference",
  about:
    "An inference that fails in the middle and may be tried again: the second attempt voids the first; one that may not ends its turn.",
  app: { limits: { retryMs: 1 } },
  cast: [
    context(),
    infer(
      (_request, reply) => {
        reply.text("Half a");
        throw new bb.BytebotError("overloaded", "the provider broke off", { retryable: true });
      },
      says("A whole answer."),
      () => {
        throw new bb.BytebotError("unauthorized", "the provider does not take this key");
      },
    ),
    twice,
  ],
});
