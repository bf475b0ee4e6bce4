import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { z } from "zod";
import { ByteBot } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import { schemas, type Event } from "../../src/wire/index.ts";

const folder = new URL("../fixtures/python/", import.meta.url).pathname;
const skip = spawnSync("python3", ["--version"]).status === 0 ? false : "there is no python3 on this machine";

const tools = {
  name: "echo",
  kind: "toolsource" as const,
  main: async () => {
    const satellite = await bb.sync({ kind: "toolsource" });
    const input = z.object({ text: z.string() });
    satellite.tool(bb.defineTool({ name: "echo", description: "Says it back.", input, run: ({ text }) => text }));
    await satellite.start();
  },
};

const rendered: number[] = [];
/** It is sent only what is new, and its handler sees the whole. */
const context = {
  name: "brief",
  kind: "context" as const,
  main: async () => {
    const satellite = await bb.sync({ kind: "context", capabilities: { history: { incremental: {} } } });
    satellite.onRender(({ history }) => {
      rendered.push(history.length);
      return { system: "Be brief.", messages: history };
    });
    await satellite.start();
  },
};

test(
  "an infer in plain Python that takes the openai shape is asked in it, through a real child (CNV-1, CNV-2, HIS-1)",
  { skip },
  async () => {
    const { asked, renders, errors, said, stop_reason } = await oneTurn();
    assert.deepEqual(errors, []);
    assert.equal(stop_reason, "end_turn");
    for (const request of asked) schemas.bb_infer_request.parse(request);

    const call = said[0] as { id: string; alias: string };
    assert.deepEqual(said, [
      { type: "tool_use", id: call.id, alias: "call_abc", name: "echo", input: { text: "héllo \u2028 there" } },
      { type: "text", text: "It says: héllo \u2028 there" },
    ]);
    const user = {
      role: "user",
      content: [
        { type: "text", text: "héllo \u2028 there" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      ],
    };
    assert.deepEqual(
      asked.map(({ messages }) => messages),
      [
        [{ role: "system", content: "Be brief." }, user],
        [
          { role: "system", content: "Be brief." },
          user,
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: call.id, type: "function", function: { name: "echo", arguments: '{"text":"héllo \u2028 there"}' } },
            ],
          },
          { role: "tool", tool_call_id: call.id, content: "héllo \u2028 there" },
        ],
      ],
    );
    const offered = asked[0]!["tools"] as { type: string; function: { name: string; description: string } }[];
    assert.deepEqual(
      offered.map(({ type, function: { name, description } }) => [type, name, description]),
      [["function", "echo", "Says it back."]],
    );
    assert.deepEqual(rendered, [1, 3]);
    assert.deepEqual(
      renders.map(({ history_whole, history }) => [history_whole, (history as unknown[]).length]),
      [
        [true, 1],
        [false, 2],
      ],
    );
  },
);

/** What the infer was asked, what the context was, and what came of it; the infer's own words are all here once it is gone. */
async function oneTurn() {
  const asked: Event[] = [];
  const errors: string[] = [];
  const renders: Event[] = [];
  const hear = (line: string): void => {
    const [, text = ""] = /^infer: (\{.*)$/s.exec(line) ?? [];
    if (text === "") return void errors.push(line);
    const event = JSON.parse(text) as Event;
    if (event.event_type === "bb_infer_request") asked.push(event);
    if (event.event_type === "bb_error") errors.push(line);
  };
  const said: unknown[] = [];
  let stop_reason: unknown;
  {
    await using hub = new ByteBot({ base: folder, context, report: hear });
    hub.attach(tools);
    const entry = { type: "stdio" as const, command: ["python3", "openai_infer.py"] };
    hub.attachInfer({ kind: "infer", name: "infer", entry });
    await hub.start();
    const types = ["bb_context_render_request", "infer_chunk"];
    const events = hub.events("u", { types, signal: AbortSignal.timeout(20_000) });
    await hub.send("u", [
      { type: "text", text: "héllo \u2028 there" },
      { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" },
    ]);
    for await (const event of events) {
      if (event.event_type === "bb_context_render_request") renders.push(event);
      if (event["kind"] === "block_stop") said.push(event["block"]);
      if (event["kind"] !== "loop_done") continue;
      stop_reason = event["stop_reason"];
      break;
    }
  }
  return { asked, renders, errors, said, stop_reason };
}
