import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { test } from "node:test";
import { infer, playing } from "./asking.ts";
import { answer, begin, delta, failure, line } from "./scripted-server.ts";

const key = "s3cret-0123456789";
const withKey = { keyEnv: "SOME_KEY", env: { SOME_KEY: key } };

const repeated: [string, (response: ServerResponse) => void][] = [
  ["in its refusal", failure(401, `Incorrect API key provided: ${key}`)],
  ["where the message is cut", failure(400, `${"x".repeat(290)}${key}`)],
  [
    "in an error inside the stream",
    (response) => {
      begin(response);
      response.end(`${delta({ content: "x" })}${line({ error: { message: `bad ${key}`, code: 401 } })}`);
    },
  ],
  [
    "in a broken stream",
    (response) => {
      begin(response);
      response.end(`${delta({ content: "x" })}data: {"authorization": "Bearer ${key}\n\n`);
    },
  ],
  [
    "in JSON where a stream should be",
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ authorization: `Bearer ${key}` }));
    },
  ],
];

for (const [where, play] of repeated) {
  test(`a key that the server repeats ${where} is in no error`, async (t) => {
    const server = await playing(t, play);
    const { error } = await infer(server, withKey);
    assert.equal(server.heard[0]?.headers.authorization, `Bearer ${key}`);
    assert.ok(error);
    // With its causes, as a log would show it; a part of the key is too much as well.
    assert.doesNotMatch(inspect(error, { depth: 10 }), /s3cret/);
  });
}

test("a key with a line break in it is refused before it is sent, one with a line break behind it is taken", async (t) => {
  const server = await playing(t, answer("ok"));
  const broken = await infer(server, { keyEnv: "SOME_KEY", env: { SOME_KEY: "s3cret\n0123456789" } });
  assert.deepEqual([broken.error?.code, broken.error?.retryable, server.heard.length], ["unauthorized", false, 0]);
  assert.match(broken.error?.message ?? "", /^The key in SOME_KEY holds a line break/);
  assert.doesNotMatch(inspect(broken.error, { depth: 10 }), /s3cret/);
  assert.equal((await infer(server, { keyEnv: "SOME_KEY", env: { SOME_KEY: `${key}\n` } })).reply.said, "ok");
});
