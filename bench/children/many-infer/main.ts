/** Answers a thousand requests at once: when all are there, a delta for each in turn, at a steady rate. */
import * as bb from "bytebot/sdk";
import { microsNow, pace, SCOPES } from "../../pace.ts";

await bb.run(async () => {
  const satellite = await bb.sync({ kind: "infer", primary: true });
  const replies: bb.InferReply[] = [];
  const done = Promise.withResolvers<void>();
  satellite.onInfer(async (_request, reply) => {
    if (replies.push(reply) === SCOPES) {
      pace((number) => replies[number % SCOPES]!.text(String(microsNow()))).then(done.resolve, done.reject);
    }
    await done.promise;
    return { stop_reason: "end_turn" };
  });
  await satellite.start();
});
