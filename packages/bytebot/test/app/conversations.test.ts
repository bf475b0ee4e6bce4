import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBot } from "../../src/app/bytebot.ts";
import * as bb from "../../src/sdk/index.ts";

test("an app lists, renames, forks and deletes the conversations of its log (CVS-1 to CVS-5)", async () => {
  await using hub = new ByteBot({ report: () => undefined });
  const main: bb.Main = async () => {
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async ({ messages }, reply) => {
      reply.text(`after ${messages.length}`);
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  };
  hub.attachInfer({ main, kind: "infer", name: "infer" });
  await hub.start();
  const ends = hub.events("u", { types: ["infer_chunk"] });
  await hub.send("u/a", "hello");
  let at = 0;
  for await (const { kind, seq } of ends) {
    if (kind !== "loop_done") continue;
    at = seq as number;
    break;
  }
  await hub.rename("u/a", "The first");
  await hub.fork("u/a", at, "u/b");
  const { conversations, more } = await hub.conversations({ scope: "u" });
  assert.deepEqual(
    conversations.map(({ scope, title, forked_from }) => [scope, title, forked_from]),
    [
      ["u/b", "hello", { scope: "u/a", seq: at }],
      ["u/a", "The first", undefined],
    ],
  );
  assert.equal(more, false);
  await hub.delete("u/a");
  await assert.rejects(hub.delete("u/a"), { code: "not_found" });
  await assert.rejects(hub.rename("u/b", "a\u0007"), { code: "invalid_event" });
  await assert.rejects(hub.conversations({ before: "elsewhere:1" }), { code: "cursor_expired" });
  assert.deepEqual(
    (await hub.conversations()).conversations.map(({ scope }) => scope),
    ["u/b"],
  );
});
