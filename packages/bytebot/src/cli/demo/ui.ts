import * as bb from "../../sdk/index.ts";

/** A person who says one thing and leaves when it is answered. Options: `text`, `scope`. Throws where the turn fails. */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const { text, scope } = opts as { text: string; scope: string };
  const satellite = await bb.sync({ kind: "ui", name: "person", inputCapable: true, primary: true, signal });
  let failure: bb.WireError | undefined;
  satellite.onInferChunk((chunk) => {
    if (chunk.kind === "loop_done") failure = chunk.error;
  });
  satellite.on("scope_state", ({ state }) => {
    if (state === "idle") void satellite.close("the turn is over");
  });
  const ended = satellite.start();
  await satellite.sendUserEvent(scope, text);
  await ended;
  if (failure) throw bb.BytebotError.fromWire(failure);
}
