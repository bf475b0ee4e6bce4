import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { infer, playing } from "./asking.ts";
import { request, said } from "./collected.ts";
import { answer } from "./scripted-server.ts";

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

test("a key with a line break in it is refused before it is sent, one with a line break behind it is taken", async (t) => {
  const server = await playing(t, answer("ok"));
  const broken = await infer(server, { keyEnv: "SOME_KEY", env: { SOME_KEY: "s3cret\n0123456789" } });
  assert.deepEqual([broken.error?.code, broken.error?.retryable, server.heard.length], ["unauthorized", false, 0]);
  assert.match(broken.error?.message ?? "", /^The key in SOME_KEY holds a line break/);
  assert.doesNotMatch(inspect(broken.error, { depth: 10 }), /s3cret/);
  assert.equal(
    (await infer(server, { keyEnv: "SOME_KEY", env: { SOME_KEY: "s3cret-0123456789\n" } })).reply.said,
    "ok",
  );
});
