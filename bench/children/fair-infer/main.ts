/** Answers everybody the same way: some deltas, one a turn of the event loop. */
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import * as bb from "bytebot/sdk";

await bb.run(async () => {
  const satellite = await bb.sync({ kind: "infer", primary: true });
  satellite.onInfer(async (_request, reply) => {
    for (let n = 0; n < 20; n++) {
      reply.text("a few tokens ok ");
      await turnOfTheLoop();
    }
    return { stop_reason: "end_turn" };
  });
  await satellite.start();
});
