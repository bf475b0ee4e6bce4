/**
 * An app whose log is a file, stopped in the middle of an answer and opened again: the turn that was cut off comes to its
 * end, and the model knows all that was said. It would be the same after a `kill -9`.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";

const folder = await mkdtemp(join(tmpdir(), "bytebot-restart-"));
const file = join(folder, "bytebot.db");
const scope = "u_7f3a";

/** A script, so that this runs anywhere: it answers with all that it was told. `stuck`: it stops in mid-word. */
const infer = (stuck: boolean) => async () => {
  const satellite = await bb.sync({ kind: "infer" });
  satellite.onInfer(async ({ messages }, reply, { signal }) => {
    const said = messages.filter(({ role }) => role === "user").flatMap(({ content }) => content);
    reply.text("You said: ");
    if (stuck && said.length === 2) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    reply.text(said.map((block) => ("text" in block ? block.text : block.type)).join(" "));
    return { stop_reason: "end_turn" };
  });
  await satellite.start();
};

async function open(stuck: boolean) {
  const hub = await ByteBot.open({ file });
  hub.attachInfer({ main: infer(stuck), kind: "infer", name: "script" });
  await hub.start();
  return hub;
}

/** Until the model has said this. */
async function answer(events: AsyncIterable<bb.Event>, text: string): Promise<void> {
  let said = "";
  for await (const { delta } of events) {
    if (typeof delta === "string" && (said += delta).endsWith(text)) return;
  }
}

const first = await open(true);
let events = first.events(scope, { types: ["infer_chunk"] });
await first.send(scope, "My boat is called Frieda.");
await answer(events, "You said: My boat is called Frieda.");
await first.send(scope, "She is red.", { id: "m_2" }); // acknowledged: it is on the disk
await answer(events, "You said: ");
await first.stop(); // in mid-answer

const second = await open(false);
events = second.events(scope, { types: ["infer_chunk"] });
assert.equal((await second.send(scope, "She is red.", { id: "m_2" })).fate, "started"); // known: nothing runs twice
await second.send(scope, "And fast.");
await answer(events, "You said: My boat is called Frieda. She is red. And fast.");
console.log("the model was told all three");
await second.stop();
await rm(folder, { recursive: true });
