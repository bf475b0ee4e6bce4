import assert from "node:assert/strict";
import { after, before, suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { ByteBot, type Event } from "bytebot";
import * as bb from "bytebot/sdk";
import { prepareWeights } from "../src/weights/index.ts";
import { findPython } from "../src/weights/python.ts";
import { LlamaServer } from "./llama-server.ts";
import { answered, called } from "./shots.ts";

const signal = AbortSignal.timeout(300_000);
const ref = fileURLToPath(new URL("..", import.meta.url));
const tools = fileURLToPath(new URL("../../bb-tools", import.meta.url));

const skip = await findPython(signal).then(
  () => false,
  (error: Error) => error.message,
);

/** What two such turns have left: the Hub writes it in the dialect, and a model goes on as it began. */
const earlier = [
  ...called("What is 2 plus 3?", "calculate", { expression: "2 + 3" }, "5"),
  answered("It is 5."),
  ...called("What is 9 times 4?", "calculate", { expression: "9 * 4" }, "36"),
  answered("It is 36."),
];

/** One turn under a real Hub, whose context shows the model what was said before. */
async function turn(t: TestContext, opts: Record<string, unknown>) {
  const hub = new ByteBot({
    report: () => undefined,
    context: async () => {
      const context = await bb.sync({ kind: "context" });
      context.onRender(({ history }) => ({ messages: [...earlier, ...history] }));
      await context.start();
    },
  });
  t.after(() => hub.stop());
  hub.attach({ ref: tools });
  hub.attachInfer({ ref, opts, env: ["XDG_CACHE_HOME"] }, { primary: true });
  await hub.start();
  const events = hub.events("u", { signal: AbortSignal.timeout(100_000) });
  await hub.send("u", "What is 6 times 7?");
  const seen: Event[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event["kind"] === "loop_done") break;
  }
  return seen;
}

suite("calls as text that a model really writes", { skip }, () => {
  let server: LlamaServer;
  before(
    async () => (server = await LlamaServer.start(await prepareWeights({ signal }), signal, { template: "turns" })),
    {
      timeout: 300_000,
    },
  );
  after(() => server?.[Symbol.asyncDispose]());

  for (const [provider, ...dialects] of [
    ["openai-compatible", "invoke", "hermes", "qwen"],
    ["anthropic", "invoke"],
  ]) {
    for (const dialect of dialects) {
      test(`a llama-server in the format of ${provider} writes a call in the dialect ${dialect}, which runs, and answers from its result (XML-1, XML-2, XML-6, XML-7)`, async (t) => {
        const reach = { provider, base_url: server.baseUrl, model: "any" };
        wrote(
          await turn(t, {
            ...reach,
            params: { max_tokens: 80, temperature: 0 },
            tools: { xml: { dialect } },
          }),
        );
      });
    }
  }
});

test("the embedded model writes a call in a dialect too, where the app says so (XML-1, XML-2, XML-6)", async (t) => {
  const params = { max_tokens: 80, context_size: 2048, repeat_penalty: 1 };
  wrote(await turn(t, { provider: "embedded", params, tools: { xml: { dialect: "hermes" } } }));
});

/** The call as an infer with native tools would have made it, in pieces; its result; an answer without a tag; the end. */
function wrote(seen: readonly Event[]): void {
  const blocks = seen.filter(({ kind }) => kind === "block_stop").map(({ block }) => block as bb.Block);
  const [call, answer] = blocks as [bb.Block, bb.Block];
  assert.deepEqual(
    blocks.map(({ type }) => type),
    ["tool_use", "text"],
    JSON.stringify(seen.at(-1)),
  );
  assert.equal(call["name"], "calculate");
  assert.deepEqual(Object.keys(call["input"] as object), ["expression"]);
  const pieces = seen.filter(({ kind, block_type }) => kind === "block_delta" && block_type === "tool_use");
  assert.ok(pieces.length > 1, "the arguments came in one piece");
  assert.equal(pieces.map(({ delta }) => String(delta)).join(""), JSON.stringify(call["input"]));
  const results = seen.filter(({ event_type }) => event_type === "tool_result");
  assert.deepEqual(
    results.map(({ name, status }) => [name, status]),
    [["calculate", "ok"]],
  );
  assert.doesNotMatch(String(answer["text"]), /[<>]/);
  assert.equal(seen.at(-1)?.["stop_reason"], "end_turn");
}
