import assert from "node:assert/strict";
import { after, before, suite, test, type TestContext } from "node:test";
import { Cli, folder } from "../../../packages/bytebot/test/cli/cli.ts";
import { prepareWeights } from "../src/weights/index.ts";
import { findPython } from "../src/weights/python.ts";
import { LlamaServer } from "./llama-server.ts";

const timeout = 100_000;
const signal = AbortSignal.timeout(300_000);
const none = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", GOOGLE_GENERATIVE_AI_API_KEY: "" };

const skip = await findPython(signal).then(
  () => false,
  (error: Error) => error.message,
);

/** One turn of the program that `npm start` runs. */
async function once(t: TestContext, text: string, ...args: string[]) {
  const cwd = await folder(t);
  return new Cli(t, ["chat", "--once", text, ...args], { cwd, env: { TMPDIR: cwd, ...none } }).done;
}

test("bytebot chat answers with the embedded model, which calls a tool on the way", { timeout }, async (t) => {
  const { code, out, err } = await once(t, "What is 6 times 7?", "--provider", "embedded");
  assert.equal(code, 0, err);
  assert.match(err, /^model: gemma-3-270m-q4_k_m\.gguf, in this machine's memory/m);
  assert.match(err, /calculate\(.*\) → ok/);
  assert.match(out, /\S/);
});

suite("bytebot chat answers with a llama-server", { skip }, () => {
  let server: LlamaServer;
  before(
    async () => (server = await LlamaServer.start(await prepareWeights({ signal }), signal, { template: "turns" })),
    {
      timeout: 300_000,
    },
  );
  after(() => server?.[Symbol.asyncDispose]());

  for (const provider of ["openai-compatible", "llama-server", "anthropic"]) {
    test(`in the format of ${provider}, whose model is found by asking it`, { timeout }, async (t) => {
      const reach = ["--provider", provider, "--base-url", server.baseUrl];
      const { code, out, err } = await once(t, "What is the capital of France?", ...reach);
      assert.equal(code, 0, err);
      assert.match(err, /^model: \S+gemma-3-270m-q4_k_m\.gguf at http:/m);
      assert.match(out, /\S/);
    });
  }
});
