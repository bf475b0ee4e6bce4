/** Answers every request with a turn of chunks, a batch a tick. */
import { setImmediate } from "node:timers/promises";
import * as bb from "bytebot/sdk";
import { BATCH, BLOCK, CHUNKS, DELTA } from "../../work.ts";

await bb.run(async ({ opts }) => {
  const chunks = Number(opts["chunks"] ?? CHUNKS);
  const satellite = await bb.sync({ kind: "infer", primary: true });
  satellite.onInfer(async (_request, reply, { signal }) => {
    for (let n = 0; n < chunks; n += BATCH) {
      // They take turns, so that blocks end.
      const kind = Math.floor(n / BLOCK) % 2 ? "thinking" : "text";
      for (let i = 0; i < Math.min(BATCH, chunks); i++) reply[kind](DELTA);
      if (chunks === 1) break;
      await satellite.drained();
      await setImmediate(undefined, { signal });
    }
    return { stop_reason: "end_turn" };
  });
  await satellite.start();
});
