import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { Exam } from "../../src/cli/doctor/exam.ts";
import { run } from "../../src/cli/doctor/run.ts";
import { checks } from "../../src/cli/doctor/table.ts";
import type { Outcome } from "../../src/cli/doctor/check.ts";
import type { Provider } from "../../src/provider.ts";
import { all, examine } from "./examine.ts";
import { KEY, ModelServer, type Wrong } from "./model-server.ts";
import { bbInfer } from "./program.ts";

interface Case {
  wrong?: Wrong;
  /** What the app announces otherwise. */
  opts?: Record<string, unknown>;
  /** In Anthropic's format; else in OpenAI's. */
  anthropic?: true;
  /** The one check that fails, and what the report says. */
  fails: string;
  shows: RegExp;
}

const claims = (capabilities: object) => ({ opts: { capabilities: { ...everything, ...capabilities } } });
const everything = { media: ["image/*"], structured_output: {}, thinking: {}, prompt_cache: {} };

const cases: Case[] = [
  { wrong: "hangs_up", fails: "reach", shows: /unavailable: / },
  { wrong: "refuses_key", fails: "key", shows: /unauthorized: .*DOCTOR_KEY was refused/ },
  { wrong: "has_no_model", fails: "model", shows: /not_found: .*bb-infer models lists what there is/ },
  { wrong: "fails", fails: "model", shows: /invalid_params: .*temperature is not known here/ },
  { wrong: "says_it_at_once", fails: "stream", shows: /the whole answer in one, after \d+ ms/ },
  { wrong: "says_nothing", fails: "stream", shows: /none, and stop reason end_turn.*raise max_tokens in opts\.params/ },
  { wrong: "ignores_max_tokens", fails: "stop", shows: /does not heed max_tokens/ },
  { wrong: "cuts_in_silence", fails: "stop", shows: /stop reason max_tokens.* end_turn/ },
  { wrong: "counts_nothing", fails: "usage", shows: /no input_tokens, no output_tokens/ },
  {
    wrong: "calls_nothing",
    fails: "tool_call",
    shows: /"The light is on\.".*opts\.tools: \{"xml":\{"dialect":"invoke"\}\}/,
  },
  { wrong: "calls_another", fails: "tool_call", shows: /a call of set_light.*one of open_door/ },
  { wrong: "calls_with_wrong_arguments", fails: "tool_call", shows: /"on":"yes"\} \(on: / },
  { wrong: "calls_with_no_json", fails: "tool_call", shows: /a call that can be read.*\{\\"room\\":kitchen\}/ },
  {
    wrong: "writes_hermes",
    fails: "tool_call",
    shows: /writes calls as text: set opts\.tools: \{"xml":\{"dialect":"hermes"\}\}/,
  },
  {
    wrong: "writes_hermes",
    opts: { ...claims({}).opts, tools: { xml: { dialect: "invoke" } } },
    fails: "tool_call",
    shows: /none, but "<tool_call>.*writes calls as text: set opts\.tools: \{"xml":\{"dialect":"hermes"\}\}/,
  },
  {
    wrong: "writes_half_a_call",
    opts: { ...claims({}).opts, tools: { xml: { dialect: "hermes" } } },
    fails: "tool_call",
    shows: /a call that can be read.*closing tags are missing.*if the server takes tools, set opts\.tools: "native"/,
  },
  { wrong: "refuses_results", fails: "tool_result", shows: /invalid_params: .*tool role/ },
  {
    wrong: "ignores_schema",
    fails: "structured_output",
    shows: /"Hello\." \(no JSON\).*opts\.capabilities: \{"structured_output":null\}/,
  },
  {
    ...claims({ structured_output: null }),
    fails: "structured_output",
    shows: /keeps to a schema: set opts\.capabilities: \{"structured_output":\{\}\}/,
  },
  { wrong: "refuses_images", fails: "image", shows: /no image input.*opts\.capabilities: \{"media":\[\]\}/ },
  { ...claims({ media: null }), fails: "image", shows: /it sees: set opts\.capabilities: \{"media":\["image\/\*"\]\}/ },
  { wrong: "goes_on", fails: "cancel", shows: /an answer to the next request.*unavailable: .*busy/ },
  {
    wrong: "thinks_nothing",
    fails: "thinking",
    shows: /shows no thinking: take it out with opts\.capabilities: \{"thinking":null\}/,
  },
  {
    ...claims({ thinking: null }),
    opts: { ...claims({ thinking: null }).opts, params: { reasoning: "low" } },
    fails: "thinking",
    shows: /some in the answer of reach.*opts\.capabilities: \{"thinking":\{\}\}/,
  },
  { wrong: "refuses_thinking", anthropic: true, fails: "thinking", shows: /invalid signature in thinking block/ },
  { wrong: "forgets", fails: "prompt_cache", shows: /none in 3 requests.*opts\.capabilities: \{"prompt_cache":null\}/ },
  {
    ...claims({ prompt_cache: null }),
    fails: "prompt_cache",
    shows: /it has a cache: set opts\.capabilities: \{"prompt_cache":\{\}\}/,
  },
  { wrong: "takes_any_key", fails: "wrong_key", shows: /this server takes any key/ },
];

async function exam(t: TestContext, { wrong, opts, anthropic }: Partial<Case>): Promise<Outcome[]> {
  const server = await ModelServer.start(wrong);
  t.after(() => server[Symbol.asyncDispose]());
  const reach = {
    provider: anthropic ? "anthropic" : "openai-compatible",
    model: anthropic ? "claude-sonnet-4-6" : "m",
    base_url: server.baseUrl,
    api_key_env: "DOCTOR_KEY",
    retry: { tries: 1 },
  };
  return examine({ ...reach, ...claims({}).opts, ...opts }, { DOCTOR_KEY: KEY });
}

suite("what is wrong in one way fails one check, and the report shows it", { concurrency: 4 }, () => {
  for (const one of cases) {
    const how = one.wrong ? `"${one.wrong}"` : `what is announced: ${JSON.stringify(one.opts)}`;
    test(`a model that is wrong in ${how} fails ${one.fails}`, async (t) => {
      const outcomes = await exam(t, one);
      const failed = outcomes.filter(({ state }) => state === "failed");
      assert.deepEqual(
        failed.map(({ check }) => check),
        [one.fails],
        JSON.stringify(failed),
      );
      const { expected, got, fix = "" } = failed[0]!;
      assert.match([expected, got, fix].join(" "), one.shows);
    });
  }
});

test("every check has a model that fails it", () => {
  const missing = checks.filter(({ name }) => !cases.some(({ fails }) => fails === name));
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

for (const anthropic of [undefined, true as const]) {
  test(`a hosted model that keeps what it announces passes every check, in ${anthropic ? "Anthropic" : "OpenAI"}'s format`, async (t) => {
    const outcomes = await exam(t, anthropic ? { anthropic } : {});
    assert.deepEqual(
      outcomes.map(({ check, state, ...more }) => (state === "passed" ? check : { check, state, ...more })),
      checks.map(({ name }) => name),
    );
  });
}

test("without a key nothing is sent to a vendor: the key fails, and nothing is said of what is behind it", async () => {
  const outcomes = await examine({ provider: "anthropic", model: "claude-sonnet-4-6" });
  const [reach, key, ...others] = outcomes;
  assert.deepEqual([reach?.state, reach?.why, key?.state], ["not_applicable", "no key is set", "failed"]);
  assert.match(key?.got ?? "", /^unauthorized: .*ANTHROPIC_API_KEY/);
  assert.ok(others.every(({ state, why }) => state === "not_applicable" && why === "it does not answer (key)"));
});

test("a model that writes its calls as text passes where that dialect is announced", async (t) => {
  const opts = { ...claims({}).opts, tools: { xml: { dialect: "hermes" } } };
  const outcomes = await exam(t, { wrong: "writes_hermes", opts });
  assert.deepEqual(
    outcomes.filter(({ state }) => state !== "passed"),
    [],
  );
  const call = outcomes.find(({ check }) => check === "tool_call");
  assert.equal(call?.note, 'set_light {"room":"kitchen","on":true}, as text, dialect hermes');
});

/** A provider that hears no signal, as one of somebody else's may be. */
const deaf: Provider = {
  label: "deaf",
  capabilities: { tools: {} },
  infer: async (_, reply) => {
    reply.text("Once");
    return new Promise<never>(() => undefined);
  },
  close: () => Promise.resolve(),
};

test("a request that hears no cancel and never ends is given up: the doctor ends, and says so", async () => {
  const { signal } = new AbortController();
  const { capabilities } = deaf;
  const subject = {
    provider: deaf,
    capabilities,
    baseUrl: undefined,
    why: "",
    params: {},
    key: undefined,
    reopen: () => Promise.resolve(deaf),
  };
  const outcomes = await all(run(new Exam(subject, { timeoutMs: 50, graceMs: 50, signal }), signal));
  assert.deepEqual(
    [outcomes[0]?.state, outcomes[0]?.got],
    ["failed", "timeout: the request did not end within 0.05 s of being stopped"],
  );
  assert.ok(
    outcomes.slice(1).every(({ state, why }) => state === "not_applicable" && why === "it does not answer (reach)"),
  );
});

test("bb-infer doctor prints a line for each check and the sum, and its exit code says how it went", async (t) => {
  const server = await ModelServer.start();
  t.after(() => server[Symbol.asyncDispose]());
  const args = [
    "doctor",
    "--provider",
    "openai-compatible",
    "--base-url",
    server.baseUrl,
    "--model",
    "m",
    "--api-key-env",
    "DOCTOR_KEY",
  ];
  const opts = ["--opts", JSON.stringify({ ...claims({}).opts, retry: { tries: 1 } })];
  const right = await bbInfer([...args, ...opts], { DOCTOR_KEY: KEY });
  assert.match(
    right.out,
    /^m at http:\S+ \(opts\.base_url is set\)\nannounced: \{"api_shape".*\n\nok {3}reach +\d+ ms {2}It can be reached\n/,
  );
  assert.match(right.out, /\n\n14 passed, 0 failed, 0 not applicable\n$/);
  assert.deepEqual([right.code, right.err], [0, ""]);
  const wrong = await bbInfer([...args, ...opts, "--json"], { DOCTOR_KEY: "another-key-456" });
  const lines = wrong.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(lines.at(-1)?.["summary"], { passed: 1, failed: 1, not_applicable: 12 });
  assert.doesNotMatch(wrong.out + right.out, new RegExp(`${KEY}|another-key`));
  assert.equal(wrong.code, 1);
  const cannot: [string[], RegExp][] = [
    [["doctor", "--opts", "{sk-s3cret"], /^bb-infer: --opts needs a JSON object(?!.*s3cret)/],
    [["doctor", "--opts", '{"modle":"m"}'], /^bb-infer: opts\.modle: there is no such option/],
    [["doctor", "--timeout", "soon"], /^bb-infer: --timeout "soon" is no number of seconds/],
    [["doctor", "--provider", "nobody-has-this"], /^bb-infer: /],
  ];
  const ends = await Promise.all(cannot.map(([words]) => bbInfer(words)));
  for (const [at, { code, err }] of ends.entries()) {
    assert.match(err, cannot[at]![1]);
    assert.equal(code, 2);
  }
});

test("a signal stops the doctor in the middle of a request, and it says so", async (t) => {
  const server = await ModelServer.start("answers_never");
  t.after(() => server[Symbol.asyncDispose]());
  const args = ["doctor", "--provider", "openai-compatible", "--base-url", server.baseUrl, "--model", "m"];
  const { code, out, err } = await bbInfer(args, {}, (child) => {
    if (server.asked > 0) child.kill("SIGINT");
    else server.onAsked = () => child.kill("SIGINT");
  });
  assert.deepEqual([code, err], [2, "bb-infer: the run was stopped\n"]);
  assert.doesNotMatch(out, /^ok/m);
});
