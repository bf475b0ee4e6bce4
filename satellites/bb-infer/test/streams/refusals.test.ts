import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { test } from "node:test";
import {
  answer,
  compatible,
  converse,
  fail,
  formats,
  json,
  KEY,
  KEY_ENV,
  say,
  type Failure,
} from "../formats/index.ts";
import { ask, never } from "./asking.ts";
import { plays, refuses, serving, type Play } from "./server.ts";

const refusals: [Failure, string, code: string, fix: RegExp][] = [
  [
    "unauthorized",
    "API key not valid. Please pass a valid API key.",
    "unauthorized",
    /The key in BB_INFER_TEST_KEY was refused/,
  ],
  ["unknown_model", "no such model", "not_found", /Check the model \(.+\)/],
  ["too_long", "prompt is too long: 210000 tokens > 200000 maximum", "too_large", /longer than this model takes/],
  ["invalid", "temperature: must be at most 1", "invalid_params", /check params/],
];

const page: Play = (response) => void response.end("<!doctype html><html><body>It works!</body></html>");
const html =
  (status: number): Play =>
  (response) => {
    response.writeHead(status, { "content-type": "text/html" });
    return page(response);
  };

for (const format of formats) {
  for (const [failure, message, code, fix] of refusals) {
    test(`${format.name}: a request that is refused as ${failure} says so with the fix, once`, async (t) => {
      const server = await serving(t, refuses(format.refusal(failure, message)));
      const { error } = await ask(format, server);
      assert.deepEqual([error?.code, error?.retryable, server.heard.length], [code, false, 1], error?.message);
      assert.ok(error?.message.includes(message), error?.message);
      assert.match(error?.message ?? "", fix);
    });
  }

  test(`${format.name}: without a key the variable that is missing is named, and nothing else is sent in its place`, async (t) => {
    const server = await serving(t, refuses(format.refusal("unauthorized", "who are you? API key not valid")));
    const { error } = await ask(format, server, { env: {} });
    assert.deepEqual([error?.code, error?.retryable], ["unauthorized", false], error?.message);
    assert.match(error?.message ?? "", new RegExp(KEY_ENV));
    // A package that insists on a key gets this word.
    for (const { headers } of server.heard)
      assert.match(String(headers[format.keyHeader] ?? "none"), /^(?:Bearer )?none$/);
  });

  test(`${format.name}: the key goes into its header and nowhere else, and a key that the server repeats is in no error`, async (t) => {
    const repeated: Play[] = [
      refuses(format.refusal("unauthorized", `Incorrect API key provided: ${KEY}`)),
      refuses(format.refusal("invalid", `${"x".repeat(290)}${KEY}`)),
      refuses(json(500, { oops: KEY })),
      refuses(json(200, { authorization: `Bearer ${KEY}` })),
      plays(format, format.events(say("x"), fail("broken", `bad ${KEY}`))),
      plays(format, [...format.events(say("x")), Buffer.from(`data: {"authorization": "Bearer ${KEY}\n\n`)]),
    ];
    for (const [at, play] of repeated.entries()) {
      const server = await serving(t, play);
      const { error } = await ask(format, server, { retry: never });
      const [heard] = server.heard;
      assert.ok(String(heard?.headers[format.keyHeader]).endsWith(KEY), "the key was not sent");
      assert.doesNotMatch(heard!.url + JSON.stringify(heard!.body), /s3cret/);
      assert.ok(error, `${at}`);
      // With its causes, as a log would show it; a part of the key is too much as well.
      assert.doesNotMatch(inspect(error, { depth: 10 }), /s3cret/, `${at}`);
    }
  });

  test(`${format.name}: a web page or JSON where a stream should be is named as that`, async (t) => {
    const welcome = await ask(format, await serving(t, html(200)));
    assert.deepEqual([welcome.error?.code, welcome.error?.retryable], ["unavailable", false]);
    assert.match(welcome.error?.message ?? "", /web page \(HTML\).*base_url/);
    const missing = await ask(format, await serving(t, html(404)));
    assert.deepEqual([missing.error?.code, missing.error?.retryable], ["not_found", false]);
    assert.match(missing.error?.message ?? "", /404: a web page, not an API.*base_url/);
    const broken = await ask(format, await serving(t, html(502)));
    assert.deepEqual([broken.error?.code, broken.error?.retryable], ["unavailable", true]);
    const unmarked = await ask(format, await serving(t, page));
    assert.equal(unmarked.error?.code, "unavailable", "a page without a content type");
    const body = await ask(format, await serving(t, refuses(json(200, { choices: [{ message: { content: "Hi" } }] }))));
    assert.deepEqual([body.error?.code, body.error?.retryable, body.reply.blocks], ["unavailable", false, []]);
    assert.match(body.error?.message ?? "", /JSON where a stream was asked for/);
    const refused = await ask(
      format,
      await serving(t, refuses({ ...format.refusal("unknown_model", "gone"), status: 200 })),
    );
    assert.ok(refused.error && /gone/.test(refused.error.message), "a refusal that says 200 is told");
  });

  test(`${format.name}: an answer without a body, of garbage, or of an empty stream is an error`, async (t) => {
    const empties: Play[] = [
      (response) => void response.end(),
      (response) => void response.writeHead(204).end(),
      plays(format, []),
      plays(format, [Buffer.from("\n\n\n")]),
      plays(format, [Buffer.from("data: {not json\n\ndata: 7\n\ndata: null\n\ndata: []\n\n")]),
      plays(format, [Buffer.alloc(5000, 0xff)]),
    ];
    for (const [at, play] of empties.entries()) {
      const { error, reply } = await ask(format, await serving(t, play), {
        retry: { tries: 2, first_ms: 1, longest_ms: 1 },
      });
      assert.equal(error?.code, "unavailable", `${at}: ${error?.message}`);
      assert.deepEqual(reply.blocks, [], `${at}`);
    }
  });

  test(`${format.name}: a server that is not there is named, with the fix`, async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.close();
    await once(server, "close");
    const { error } = await ask(format, { origin });
    assert.deepEqual([error?.code, error?.retryable], ["unavailable", true]);
    assert.match(error?.message ?? "", new RegExp(`${origin}.*: nothing listens there: start the server`));
  });

  test(`${format.name}: a redirect is told, and the key goes no further`, async (t) => {
    const other = await serving(t, plays(format, answer(format, "stolen")));
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await serving(
        t,
        (response) => void response.writeHead(status, { location: `${other.origin}/v1/x` }).end(),
      );
      const { error } = await ask(format, server);
      assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["unavailable", false, 1], `${status}`);
      assert.ok(error?.message.includes(other.origin), error?.message);
    }
    assert.equal(other.heard.length, 0);
  });
}

test("an account without credit is not tried again, whatever the format", async (t) => {
  for (const format of formats) {
    // Neither Gemini nor Bedrock has a word for it.
    if (format.name === "Gemini" || format === converse) continue;
    const server = await serving(t, refuses(format.refusal("credit", "You exceeded your current quota")));
    const { error } = await ask(format, server);
    assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["budget_exceeded", false, 1], format.name);
  }
});

test("a key that the server repeats in the way of JSON or of a URL is in no error either", async (t) => {
  const key = "s3cret/0123+4567/89==";
  for (const way of [key, key.replaceAll("/", String.raw`\/`), encodeURIComponent(key)]) {
    const body = `{"oops":"${way}","url":"https://x.example/?key=${way}"}`;
    const server = await serving(t, refuses({ status: 400, headers: { "content-type": "application/json" }, body }));
    const { error } = await ask(compatible, server, { env: { [KEY_ENV]: key } });
    assert.equal(error?.code, "invalid_params");
    assert.doesNotMatch(inspect(error, { depth: 10 }), /s3cret|0123|4567/);
  }
});

test("a server's word for an error goes before its sentences, and these are read where it has none", async (t) => {
  const billing = "Rate limit reached: 3 requests a minute. Add a payment method at example.com/billing for more.";
  const low = "Your credit balance is too low to access the API.";
  const cases: [status: number, error: object, code: string, retryable: boolean][] = [
    [429, { code: "rate_limit_exceeded", message: billing }, "overloaded", true],
    [429, { code: "rate_limit_exceeded", message: low }, "overloaded", true],
    [429, { message: billing }, "overloaded", true],
    [429, { code: "rate_limit_exceeded", type: "insufficient_quota", message: "x" }, "budget_exceeded", false],
    [429, { message: "You exceeded your current quota" }, "budget_exceeded", false],
    [400, { type: "invalid_request_error", message: low }, "budget_exceeded", false],
    [400, { code: "constructor", type: "toString", status: "__proto__", message: "no" }, "invalid_params", false],
  ];
  for (const [status, error, code, retryable] of cases) {
    const refused = await serving(t, refuses(json(status, { error })));
    const outcome = await ask(compatible, refused, { retry: never });
    assert.deepEqual([outcome.error?.code, outcome.error?.retryable], [code, retryable], JSON.stringify(error));
  }
});
