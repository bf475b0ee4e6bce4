/** Asks for one turn after the other, each in a conversation of its own, and times its chunks. */
import * as bb from "bytebot/sdk";
import { reportTo } from "../../report.ts";
import { relayWork } from "../../work.ts";

await bb.run(async ({ opts }) => {
  const ui = await bb.sync({ kind: "ui", inputCapable: true, primary: true });
  let chunk: (delta: string) => void;
  let done: (error?: Error) => void;
  ui.onInferChunk((event) => {
    if (event.kind === "block_delta") chunk(event.delta);
    if (event.kind === "loop_done") done(event.error && new Error(`the turn failed: ${event.error.message}`));
  });
  const closed = ui.start();
  await reportTo(opts["report"], (begin) =>
    relayWork(async (number, onChunk) => {
      chunk = onChunk;
      const turn = new Promise<void>((resolve, reject) => {
        done = (error) => (error ? reject(error) : resolve());
      });
      await ui.sendUserEvent(`bench/c_${number}`, "go");
      await turn;
    }, begin),
  );
  await closed;
});
