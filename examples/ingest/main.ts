/** An app with the toolsource beside it, attached by its path: one turn takes a text in and finds a passage again. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";

const NOTES = "The parcel left on Monday.\n\nThe invoice is paid.";

/** What a model would decide, as a script; the calls are real. */
async function script() {
  const satellite = await bb.sync({ kind: "infer", name: "script" });
  satellite.onInfer(async ({ round, messages }, reply) => {
    if (round === 0) reply.block({ type: "tool_use", name: "ingest", input: { name: "notes", text: NOTES } });
    else if (round === 1) reply.block({ type: "tool_use", name: "search", input: { words: "parcel" } });
    else reply.text(`I found this: ${JSON.stringify(messages.at(-1)?.content)}`);
    return { stop_reason: round < 2 ? "tool_use" : "end_turn" };
  });
  await satellite.start();
}

const hub = new ByteBot({ base: join(import.meta.dirname, "..") });
hub.attach("./ingest");
hub.attachInfer(script, { primary: true });
await hub.start();
try {
  const turn = hub.events("anna", { types: ["tool_progress", "bb_tool_call_result", "infer_chunk", "scope_state"] });
  await hub.send("anna", "Keep these notes, then tell me where the parcel is.");
  const seen: bb.Event[] = [];
  for await (const event of turn) {
    seen.push(event);
    if (event.event_type === "scope_state" && event.state === "idle") break;
  }
  const results = seen.filter(({ event_type }) => event_type === "bb_tool_call_result");
  const found = JSON.stringify({ found: [{ name: "notes", passage: "The parcel left on Monday." }] });
  assert.deepEqual(
    results.map(({ status, content }) => [status, content]),
    [
      ["ok", [{ type: "text", text: "notes is in, 2 passages" }]],
      ["ok", [{ type: "text", text: found }]],
    ],
  );
  assert.ok(seen.some(({ event_type, text }) => event_type === "tool_progress" && text === "2 passages"));
  const [last] = seen.filter(({ kind }) => kind === "loop_done");
  assert.equal(last?.stop_reason, "end_turn");

  const other = await hub.callTool("bert", "search", { words: "parcel" });
  assert.deepEqual(other.content, [{ type: "text", text: `{"found":[]}` }]);
  console.log("anna's notes were taken in and found; bert does not see them");
} finally {
  await hub.stop();
}
