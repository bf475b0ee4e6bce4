import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { infer, playing } from "./asking.ts";
import { Collected, request, said } from "./collected.ts";
import { answer, begin, delta, failure, line, ScriptedServer } from "./scripted-server.ts";

test("text and reasoning stream in order, with the stop reason and the tokens the server counted", async (t) => {
  const server = await playing(t, (response) => {
    begin(response);
    response.write(delta({ reasoning_content: "Hm." }));
    answer("Hel", "lo 🎈")(Object.assign(response, { writeHead: () => response }) as ServerResponse);
  });
  const { reply, end } = await infer(server);
  assert.deepEqual(reply.blocks, [
    { type: "thinking", thinking: "Hm." },
    { type: "text", text: "Hello 🎈" },
  ]);
  assert.deepEqual(end, {
    stop_reason: "end_turn",
    usage: { input_tokens: 8, output_tokens: 2, cache_read_tokens: 4 },
  });
});

test("a stream cut at every byte gives the same blocks", async (t) => {
  const server = await playing(t, async (response) => {
    begin(response);
    const whole = [
      delta({ content: "Zoë says “hi” 🎈" }),
      delta({ tool_calls: [{ index: 0, id: "call_9", function: { name: "add", arguments: '{"a":' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '"🎈"}' } }] }),
      delta({}, "tool_calls"),
      "data: [DONE]\n\n",
    ].join("");
    for (const byte of Buffer.from(whole)) {
      response.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    response.end();
  });
  const { reply, end } = await infer(server);
  assert.deepEqual(reply.blocks, [
    { type: "text", text: "Zoë says “hi” 🎈" },
    { type: "tool_use", name: "add", input: { a: "🎈" }, id: "call_9" },
  ]);
  assert.deepEqual(end, { stop_reason: "tool_use", usage: {} });
});

test("two calls whose arguments come interleaved stay two calls", async (t) => {
  const part = (index: number, call: object) => delta({ tool_calls: [{ index, ...call }] });
  const server = await playing(t, (response) => {
    begin(response);
    response.write(part(0, { id: "a", function: { name: "one", arguments: '{"x"' } }));
    response.write(part(1, { id: "b", function: { name: "two", arguments: '{"y"' } }));
    response.write(part(0, { function: { arguments: ":1}" } }) + part(1, { function: { arguments: ":2}" } }));
    response.end(delta({}, "stop"));
  });
  const { reply, end } = await infer(server);
  assert.deepEqual(
    reply.blocks.map(({ name, input }) => [name, input]),
    [
      ["one", { x: 1 }],
      ["two", { y: 2 }],
    ],
  );
  assert.equal(end?.stop_reason, "tool_use");
});

test("ten thousand small deltas arrive whole", async (t) => {
  const server = await playing(t, answer(...Array.from({ length: 10_000 }, (_, n) => `${n} `)));
  const { reply } = await infer(server);
  assert.equal(reply.said, Array.from({ length: 10_000 }, (_, n) => `${n} `).join(""));
});

test("the key goes into the header and nowhere else, the parameters into the body", async (t) => {
  const server = await playing(t, answer("ok"));
  await infer(server, {
    keyEnv: "SOME_KEY",
    env: { SOME_KEY: "s3cret" },
    headers: { "x-team": "a" },
    params: { temperature: 0.5, reasoning_effort: "low" },
  });
  const [heard] = server.heard;
  assert.equal(heard?.headers.authorization, "Bearer s3cret");
  assert.equal(heard?.headers["x-team"], "a");
  assert.deepEqual(
    [heard?.body["temperature"], heard?.body["reasoning_effort"], heard?.body["stream"]],
    [0.5, "low", true],
  );
  assert.doesNotMatch(JSON.stringify(heard?.body), /s3cret/);
});

test("a conversation with calls, results and pictures keeps its order and its ids", async (t) => {
  const server = await playing(t, answer("ok"));
  const messages = [
    said("2 + 3?"),
    {
      role: "assistant" as const,
      content: [
        { type: "thinking" as const, thinking: "secret" },
        { type: "tool_use" as const, id: "c_1", name: "add", input: { a: 2 } },
      ],
    },
    {
      role: "user" as const,
      content: [
        {
          type: "tool_result" as const,
          tool_use_id: "c_1",
          content: [
            { type: "text" as const, text: "5" },
            { type: "image" as const, mime_type: "image/png", data: "AAAA" },
          ],
        },
        { type: "text" as const, text: "and this?" },
      ],
    },
  ];
  const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
  await infer(server, { ask: request({ system: "Be brief.", messages, tools, tool_choice: { type: "any" } }) });
  const body = server.heard[0]?.body as { messages: Record<string, unknown>[]; tools: unknown; tool_choice: unknown };
  assert.deepEqual(body.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "2 + 3?" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c_1", type: "function", function: { name: "add", arguments: '{"a":2}' } }],
    },
    { role: "tool", tool_call_id: "c_1", content: "5\n[image/png, shown below]" },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "text", text: "and this?" },
      ],
    },
  ]);
  assert.equal(body.tool_choice, "required");
});

test("a missing key, a refused key and an unknown model each say the fix", async (t) => {
  const unauthorized = await playing(t, failure(401, "who are you"));
  const none = await infer(unauthorized, { keyEnv: "SOME_KEY", env: {} });
  assert.equal(none.error?.code, "unauthorized");
  assert.match(none.error?.message ?? "", /No key was sent: set SOME_KEY/);
  const refused = await infer(unauthorized, { keyEnv: "SOME_KEY", env: { SOME_KEY: "s3cret" } });
  assert.match(refused.error?.message ?? "", /The key in SOME_KEY was refused/);
  assert.doesNotMatch(refused.error?.message ?? "", /s3cret/);
  assert.equal(unauthorized.heard.length, 2, "a refused key was tried again");
  const unknown = await infer(await playing(t, failure(404, "no such model")), { model: "gpt-0" });
  assert.equal(unknown.error?.code, "not_found");
  assert.match(unknown.error?.message ?? "", /no such model.*gpt-0/);
});

test("a web page where an API should be is named as one", async (t) => {
  const page = (status: number) => (response: ServerResponse) => {
    response.writeHead(status, { "content-type": "text/html" });
    response.end("<!doctype html><html><body>It works!</body></html>");
  };
  const welcome = await infer(await playing(t, page(200)));
  assert.match(welcome.error?.message ?? "", /web page \(HTML\).*base_url/);
  const missing = await infer(await playing(t, page(404)));
  assert.match(missing.error?.message ?? "", /404: a web page, not an API/);
});

test("a server that is not there is named, with the fix", async () => {
  const server = await ScriptedServer.start();
  await server[Symbol.asyncDispose]();
  const { error } = await infer(server);
  assert.equal(error?.code, "unavailable");
  assert.match(error?.message ?? "", new RegExp(`${server.baseUrl}: nothing listens there`));
});

test("a stream that is cut, or ends without saying that it is complete, is an error and not tried again once text was seen", async (t) => {
  const cut = await playing(t, (response) => {
    begin(response);
    response.write(delta({ content: "Half an ans" }), () => response.destroy());
  });
  const half = await infer(cut);
  assert.equal(half.reply.said, "Half an ans");
  assert.deepEqual([half.error?.code, half.error?.retryable, cut.heard.length], ["unavailable", true, 1]);
  const open = await playing(t, (response) => {
    begin(response);
    response.end(delta({ content: "No end" }));
  });
  const noEnd = await infer(open);
  assert.deepEqual([noEnd.error?.code, noEnd.error?.retryable, open.heard.length], ["unavailable", true, 1]);
});

test("a stream without a finish reason is named as cut, whether it says [DONE] or not", async (t) => {
  const server = await playing(t, (response) => {
    begin(response);
    response.end(`${delta({ content: "Half" })}data: [DONE]\n\n`);
  });
  const { error } = await infer(server);
  assert.deepEqual([error?.code, error?.retryable], ["unavailable", true]);
  assert.match(error?.message ?? "", /ended the reply before it was complete/);
});

test("what comes after [DONE] is dropped, and a server that leaves its connection open then has answered", async (t) => {
  const server = await playing(t, async (response) => {
    begin(response);
    for (const byte of `${delta({ content: "All" })}${delta({}, "stop")}data: [DONE]\r\n\r\n`) {
      response.write(byte);
      await new Promise(setImmediate);
    }
    response.write(delta({ content: " and more" }));
  });
  const { reply, end, error } = await infer(server, { params: { idle_timeout_ms: 10_000 } });
  assert.equal(error, undefined);
  assert.deepEqual([reply.said, end?.stop_reason], ["All", "end_turn"]);
});

test("a server that fails is tried three times in all, and then named", async (t) => {
  const server = await playing(t, failure(503, "restarting", { headers: { "retry-after": "0" } }));
  const { error } = await infer(server);
  assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["unavailable", true, 3]);
  assert.match(error?.message ?? "", /503: restarting/);
});

test("a reply in a broken format is an error, not text", async (t) => {
  const server = await playing(t, (response) => {
    begin(response);
    response.end("data: {not json\n\n");
  });
  const { error, reply } = await infer(server);
  assert.equal(error?.code, "unavailable");
  assert.deepEqual(reply.blocks, []);
});

test("a stream that falls silent fails after the idle time, and its connection is closed", async (t) => {
  const gone = Promise.withResolvers<void>();
  const server = await playing(t, (response) => {
    response.on("close", gone.resolve);
    begin(response);
    response.write(delta({ content: "One moment" }));
  });
  const { error } = await infer(server, { timeouts: { idle_ms: 150, first_ms: 150 } });
  assert.deepEqual([error?.code, error?.retryable], ["timeout", true]);
  assert.match(error?.message ?? "", /sent nothing for 0.15 s/);
  await gone.promise;
});

test("too many requests: the wait the server asks for is kept, and the answer comes once", async (t) => {
  const server = await playing(t, failure(429, "slow down", { headers: { "retry-after-ms": "50" } }), answer("Here"));
  const { reply, end } = await infer(server);
  assert.deepEqual([reply.said, end?.stop_reason, server.heard.length], ["Here", "end_turn", 2]);
});

test("a wait of hours is not waited but reported", async (t) => {
  const server = await playing(t, failure(429, "come back later", { headers: { "retry-after": "18000" } }));
  const { error } = await infer(server);
  assert.deepEqual([error?.code, error?.retryAfterMs, server.heard.length], ["overloaded", 18_000_000, 1]);
  assert.match(error?.message ?? "", /come back later/);
});

test("an account without credit is not tried again", async (t) => {
  const server = await playing(t, failure(429, "no credit", { code: "insufficient_quota" }));
  const { error } = await infer(server);
  assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["budget_exceeded", false, 1]);
});

test("an error inside a stream that began with 200 is tried again before the first text, and reported after it", async (t) => {
  const inside = (before: string) => (response: ServerResponse) => {
    begin(response);
    response.end(`${before}${line({ error: { message: "overloaded", code: 429 } })}`);
  };
  const early = await playing(t, inside(delta({ role: "assistant" })), answer("Fine"));
  const again = await infer(early);
  assert.deepEqual([again.reply.said, early.heard.length], ["Fine", 2]);
  const late = await playing(t, inside(delta({ content: "Be" })), answer("Fine"));
  const reported = await infer(late);
  assert.deepEqual([reported.error?.code, reported.reply.said, late.heard.length], ["overloaded", "Be", 1]);
});

test("a conversation too long for the model is named as that", async (t) => {
  const server = await playing(t, failure(400, "maximum context length is 8192", { code: "context_length_exceeded" }));
  const { error } = await infer(server);
  assert.deepEqual([error?.code, error?.retryable], ["too_large", false]);
});

test("an abort closes the connection in the middle of the text, and ends a wait before a retry", async (t) => {
  const gone = Promise.withResolvers<void>();
  const streaming = await playing(t, (response) => {
    response.on("close", gone.resolve);
    begin(response);
    response.write(delta({ content: "Once upon" }));
  });
  const stop = new AbortController();
  const reply = new Collected();
  reply.onDelta = () => stop.abort();
  const stopped = await infer(streaming, { signal: stop.signal, reply });
  assert.equal(stopped.error?.code, "cancelled");
  await gone.promise;
  const waiting = new AbortController();
  const busy = await playing(t, async (response) => {
    failure(429, "slow down", { headers: { "retry-after": "25" } })(response);
    await once(response, "close");
    waiting.abort();
  });
  const ended = await infer(busy, { signal: waiting.signal });
  assert.deepEqual([ended.error?.code, busy.heard.length], ["cancelled", 1]);
});
