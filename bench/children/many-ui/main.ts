/** Reads the deltas of its own scopes, and nobody else's. */
import * as bb from "bytebot/sdk";
import { reader } from "../../pace.ts";
import { reportTo } from "../../report.ts";

export const main: bb.Main = async ({ opts }) => {
  const scopes = [String(opts["scope"])];
  const ui = await bb.sync({ kind: "ui", scopes, types: ["infer_chunk"] });
  await reportTo(opts["report"], (begin) => {
    const { read, figure } = reader(begin);
    ui.onInferChunk((event) => {
      if (event.kind === "block_delta") read(Number(event.delta));
    });
    ui.start().catch((error: unknown) => console.error(error));
    return figure;
  });
};

await bb.run(main);
