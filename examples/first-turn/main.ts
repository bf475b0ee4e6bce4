import assert from "node:assert/strict";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";

const hub = new ByteBot();
hub.attach("bb-tools"); // an installed package: a process of its own
hub.attachInfer(async () => {
  const infer = await bb.sync({ kind: "infer" }); // a script, so that this runs anywhere; "bb-infer" is a model
  infer.onInfer(async ({ round }, reply) => {
    if (round === 0) reply.block({ type: "tool_use", name: "calculate", input: { expression: "6 * 7" } });
    else reply.text("It is what the tool says.");
    return { stop_reason: round === 0 ? "tool_use" : "end_turn" };
  });
  await infer.start();
});
await hub.start();

const turn = hub.events("u_7f3a");
await hub.send("u_7f3a", "What is 6 times 7?");
const seen: bb.Event[] = [];
for await (const event of turn) {
  console.log(JSON.stringify(event));
  if (seen.push(event) && event.state === "idle") break;
}
await hub.stop();
assert.ok(
  seen.some(({ event_type, content }) => event_type === "tool_result" && JSON.stringify(content).includes("42")),
);
