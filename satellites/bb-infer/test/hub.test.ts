import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { ByteBot, type Event } from "bytebot";
import type * as bb from "bytebot/sdk";
import { playing } from "./asking.ts";
import { answer, begin, delta, failure } from "./scripted-server.ts";

const ref = fileURLToPath(new URL("..", import.meta.url));
const tools = fileURLToPath(new URL("../../bb-tools", import.meta.url));
const key = "s3cret-0123456789";

/** A Hub with the satellite as a child, from its folder, and what came of one turn. */
async function turn(t: TestContext, { opts, env = [], text }: { opts: object; env?: string[]; text: string }) {
  const reported: string[] = [];
  const hub = new ByteBot({ report: (line) => void reported.push(line) });
  t.after(() => hub.stop());
  hub.attach(tools);
  hub.attachInfer({ ref, opts: { ...opts }, env }, { primary: true });
  await hub.start();
  const events = hub.events("u", { signal: AbortSignal.timeout(60_000) });
  await hub.send("u", text);
  const seen: Event[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event["kind"] === "loop_done") break;
  }
  const blocks = seen.filter(({ kind }) => kind === "block_stop").map(({ block }) => block as bb.Block);
  const results = seen.filter(({ event_type }) => event_type === "tool_result");
  return { blocks, results, done: seen.at(-1) as Event, seen, reported };
}

const say = (blocks: bb.Block[]) =>
  blocks.flatMap(({ type, text }) => (type === "text" ? [String(text)] : [])).join("");

/** The variable a child may read, for one test. */
function set(t: TestContext, value: string): void {
  process.env["BB_INFER_TEST_KEY"] = value;
  t.after(() => void delete process.env["BB_INFER_TEST_KEY"]);
}

/** Refuses every key but the right one. */
const guarded = (play: (response: ServerResponse) => void) => (response: ServerResponse) => {
  const right = response.req.headers.authorization === `Bearer ${key}`;
  (right ? play : failure(401, `Incorrect API key provided: ${response.req.headers.authorization}`))(response);
};

const guardedOpts = (baseUrl: string) => ({ base_url: baseUrl, model: "m", api_key_env: "BB_INFER_TEST_KEY" });

test(
  "under a Hub a server's answer calls a tool, its result goes back, and the turn ends in words",
  { timeout: 60_000 },
  async (t) => {
    set(t, key);
    const call = { index: 0, id: "call_1", function: { name: "calculate", arguments: '{"expression":"21 * 2"}' } };
    const server = await playing(
      t,
      guarded((response) => {
        begin(response);
        response.end(delta({ tool_calls: [call] }) + delta({}, "tool_calls"));
      }),
      guarded(answer("It is ", "42.")),
    );
    const { blocks, done, seen } = await turn(t, {
      opts: guardedOpts(server.baseUrl),
      env: ["BB_INFER_TEST_KEY"],
      text: "Twice 21?",
    });
    assert.equal(done["stop_reason"], "end_turn", JSON.stringify(done));
    assert.deepEqual(
      blocks.filter(({ type }) => type === "tool_use").map(({ name, input }) => [name, input]),
      [["calculate", { expression: "21 * 2" }]],
    );
    assert.equal(say(blocks), "It is 42.");
    const second = server.heard[1]?.body["messages"] as { role: string; content: unknown; tool_call_id?: string }[];
    assert.deepEqual(
      second.map(({ role }) => role),
      ["user", "assistant", "tool"],
    );
    assert.equal(second[2]?.content, "42");
    assert.doesNotMatch(JSON.stringify(seen), /s3cret/);
  },
);

test(
  "under a Hub a wrong key ends the turn as unauthorized, with the fix, and is shown nowhere",
  { timeout: 60_000 },
  async (t) => {
    set(t, "s3cret-but-wrong");
    const server = await playing(t, guarded(answer("never")));
    const { done, seen, reported } = await turn(t, {
      opts: guardedOpts(server.baseUrl),
      env: ["BB_INFER_TEST_KEY"],
      text: "Hello",
    });
    const error = done["error"] as { code: string; message: string };
    assert.deepEqual([done["stop_reason"], error.code, server.heard.length], ["error", "unauthorized", 1]);
    assert.match(error.message, /The key in BB_INFER_TEST_KEY was refused/);
    assert.doesNotMatch(JSON.stringify([seen, reported]), /s3cret/);
  },
);

test(
  "under a Hub a key that the app did not allow is not sent, and the turn says which one is missing",
  { timeout: 60_000 },
  async (t) => {
    set(t, key);
    const server = await playing(t, guarded(answer("never")));
    const { done } = await turn(t, { opts: guardedOpts(server.baseUrl), text: "Hello" });
    assert.equal(server.heard[0]?.headers.authorization, undefined);
    assert.match((done["error"] as { message: string }).message, /No key was sent: set BB_INFER_TEST_KEY/);
  },
);

test(
  "under a Hub a picture that came as a blob is sent to the server with its bytes, a text's reference is named",
  { timeout: 60_000 },
  async (t) => {
    set(t, key);
    const server = await playing(t, guarded(answer("A cat.")));
    const hub = new ByteBot({ report: () => undefined });
    t.after(() => hub.stop());
    hub.attachInfer({ ref, opts: guardedOpts(server.baseUrl), env: ["BB_INFER_TEST_KEY"] }, { primary: true });
    await hub.start();
    const events = hub.events("u", { types: ["infer_chunk"], signal: AbortSignal.timeout(60_000) });
    const bytes = Buffer.alloc(3_000_000, "picture");
    const picture = await hub.putBlob("u", bytes, { mimeType: "image/png" });
    const notes = await hub.putBlob("u", Buffer.from("notes"), { mimeType: "text/plain" });
    await hub.send("u", [{ type: "text", text: "What is this?" }, picture, notes]);
    for await (const event of events) if (event["kind"] === "loop_done") break;
    const [said] = server.heard[0]!.body["messages"] as { content: Record<string, unknown>[] }[];
    const [words, image, text] = said!.content;
    assert.equal(words!["text"], "What is this?");
    assert.deepEqual(image!["image_url"], { url: `data:image/png;base64,${bytes.toString("base64")}` });
    assert.match(String(text!["text"]), /^\[text\/plain of 5 bytes, not shown/);
  },
);

test("under a Hub the embedded model calls a tool and ends its turn in words", { timeout: 300_000 }, async (t) => {
  const { blocks, done, results } = await turn(t, {
    opts: { provider: "embedded", params: { context_size: 2048 } },
    env: ["XDG_CACHE_HOME", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_CONFIG_FILE"],
    text: "What is 6 times 7?",
  });
  assert.equal(done["stop_reason"], "end_turn", JSON.stringify(done));
  assert.deepEqual(
    results.map(({ name, status }) => [name, status]),
    [["calculate", "ok"]],
  );
  assert.match(say(blocks), /\S/);
});
