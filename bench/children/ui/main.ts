/** Asks for one turn after the other, each in a conversation of its own, and times its chunks. */
import * as bb from "bytebot/sdk";
import { reportTo } from "../../report.ts";
import { firstWork, relayWork } from "../../work.ts";

export const main: bb.Main = async ({ opts }) => {
  const ui = await bb.sync({ kind: "ui", inputCapable: true, primary: true });
  let chunk: (delta: string) => void = () => {};
  let done: (error?: Error) => void;
  ui.onInferChunk((event) => {
    if (event.kind === "block_delta") chunk(event.delta);
    if (event.kind === "loop_done") done(event.error && new Error(`the turn failed: ${event.error.message}`));
  });
  const turn = async (number: number) => {
    const ended = new Promise<void>((resolve, reject) => {
      done = (error) => (error ? reject(error) : resolve());
    });
    await ui.sendUserEvent(`bench/c_${number}`, "go");
    await ended;
  };
  const closed = ui.start();
  await reportTo(opts["report"], (begin) => {
    if (opts["first"]) {
      return firstWork((number, first) => {
        chunk = first;
        return turn(number);
      });
    }
    const load = opts as { chunks?: number; turns?: number };
    return relayWork(
      (number, onChunk) => {
        chunk = onChunk;
        return turn(number);
      },
      begin,
      load,
    );
  });
  await closed;
};

await bb.run(main);
