import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBot } from "../../src/index.ts";
import type { Kind } from "../../src/wire/index.ts";

/** Joins as this kind, and dies of it. */
function dies(kind: Kind): { name: string; kind: Kind; entry: { type: "stdio"; command: string[] } } {
  const sync = JSON.stringify({ event_type: "bb_sync", kind });
  const code = `console.log('${sync}'); process.stdin.once("data", () => process.exit(3));`;
  return { name: `dying-${kind}`, kind, entry: { type: "stdio", command: ["node", "-e", code] } };
}

test("a child that crashes is started again under the same id, until it has crashed five times; a UI is not (CON-11, CON-5)", async () => {
  const lines: string[] = [];
  await using hub = new ByteBot({ report: (line) => lines.push(line) });
  await hub.start();
  const syncs: unknown[] = [];
  const watching = (async () => {
    for await (const { from } of hub.events("*", { types: ["bb_sync"] })) syncs.push(from);
  })();
  const infer = hub.attach(dies("infer"));
  const ui = hub.attach(dies("ui"));
  assert.match((await ui.ended).reason, /exited with code 3/);
  assert.match((await infer.ended).reason, /exited with code 3/);
  await hub.stop();
  await watching;
  const of = (id: string): number => syncs.filter((from) => from === id).length;
  assert.deepEqual([of("dying-infer"), of("dying-ui")], [5, 1]);
  assert.ok(
    lines.some((line) => /dying-infer crashed 5 times in 5 minutes and is left alone/.test(line)),
    lines.join("\n"),
  );
});
