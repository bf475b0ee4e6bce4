import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { request, said } from "./collected.ts";
import { answer, begin, delta, ScriptedServer } from "./scripted-server.ts";

type Line = Record<string, unknown>;

/** The satellite as a Hub starts it: a child that speaks JSON lines. */
function start(t: TestContext, opts: object) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("../src/main.ts", import.meta.url))], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], BYTEBOT_OPTS: JSON.stringify(opts) },
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    stderr: () => stderr,
    send: (event: object) => child.stdin.write(`${JSON.stringify(event)}\n`),
    /** The next line of one of these types. */
    async next(...types: string[]): Promise<Line> {
      for (;;) {
        const { value, done } = await lines.next();
        assert.ok(!done, `it ended: ${stderr}`);
        const event = JSON.parse(value) as Line;
        if (types.includes(String(event["event_type"]))) return event;
      }
    },
  };
}

const limits = { line_bytes: 16_777_216, values: 1_000_000, depth: 64 };
const ack = {
  event_type: "bb_sync_ack",
  component_id: "infer_1",
  protocol_version: 1,
  kind: "infer",
  scopes: ["*"],
  input_capable: false,
  primary: true,
  controller: false,

  limits,
  hub: { name: "test", version: "0" },
};

test(
  "over stdio it says what it is, streams an answer as chunks, and leaves when the Hub does",
  { timeout: 30_000 },
  async (t) => {
    const server = await ScriptedServer.start(answer("Hel", "lo"));
    t.after(() => server[Symbol.asyncDispose]());
    const satellite = start(t, { base_url: server.baseUrl, model: "m" });
    const sync = await satellite.next("bb_sync");
    assert.deepEqual(
      [sync["kind"], sync["capabilities"]],
      ["infer", { api_shape: "anthropic", model: "m", tools: { native: {} } }],
    );
    satellite.send(ack);
    satellite.send(request({ id: "i_1", messages: [said("Hello")] }));
    const kinds: unknown[] = [];
    for (;;) {
      const event = await satellite.next("infer_chunk", "bb_infer_result");
      assert.equal(event["in_reply_to"], "i_1");
      if (event["event_type"] === "bb_infer_result") {
        assert.deepEqual([event["success"], event["stop_reason"]], [true, "end_turn"]);
        break;
      }
      kinds.push(event["kind"]);
    }
    assert.deepEqual(kinds, ["block_start", "block_delta", "block_delta", "block_stop"]);
    const closed = once(satellite.child, "close");
    satellite.child.stdin.end();
    assert.deepEqual(await closed, [0, null]);
  },
);

test("bb_cancel ends a request in the middle, with code cancelled", { timeout: 30_000 }, async (t) => {
  const server = await ScriptedServer.start((response) => {
    begin(response);
    response.write(delta({ content: "Once upon" }));
  });
  t.after(() => server[Symbol.asyncDispose]());
  const satellite = start(t, { base_url: server.baseUrl, model: "m" });
  await satellite.next("bb_sync");
  satellite.send(ack);
  satellite.send(request({ id: "i_2", messages: [said("Hello")] }));
  await satellite.next("infer_chunk");
  satellite.send({ event_type: "bb_cancel", target: "i_2", reason: "enough" });
  const result = await satellite.next("bb_infer_result");
  assert.equal((result["error"] as Line)["code"], "cancelled");
});

test("wrong opts end it with one sentence that names the option, and exit code 1", { timeout: 30_000 }, async (t) => {
  const satellite = start(t, { modle: "m" });
  const [code] = (await once(satellite.child, "close")) as [number];
  assert.equal(code, 1);
  assert.match(
    satellite.stderr(),
    /^bytebot: bb-infer: opts\.modle: there is no such option; leave it out; there are provider, model, [^\n]*\n$/,
  );
});
