import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBot, type Event } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";

const SCOPES = ["u_1", "u_2"];
const DELTAS = 12_000;

/** Says its number of words, and that by word. */
const talks = {
  name: "talks",
  kind: "infer" as const,
  main: async () => {
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async (_, reply) => {
      for (let index = 0; index < DELTAS; index++) {
        reply.text(`${index} `);
        if (index % 100 === 0) await satellite.drained();
      }
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  },
};

test("however fast models stream, a reader of events() that is behind misses nothing of it: deltas of a block are joined (OWN-3, CHK-7)", async () => {
  await using hub = new ByteBot({ report: () => undefined });
  hub.attachInfer(talks);
  await hub.start();
  const behind = hub.events();
  const reads = hub.events("*", { types: ["infer_chunk"], signal: AbortSignal.timeout(20_000) });
  const wanted = new Map<string, Event[]>(SCOPES.map((scope) => [scope, []]));
  await Promise.all(SCOPES.map((scope) => hub.send(scope, "talk")));
  let done = 0;
  for await (const event of reads) {
    wanted.get(String(event["scope"]))!.push(event);
    if (event["kind"] === "loop_done" && ++done === SCOPES.length) break;
  }
  const got = new Map<string, Event[]>(SCOPES.map((scope) => [scope, []]));
  let count = 0;
  for await (const event of behind) {
    count++;
    if (event.event_type !== "infer_chunk") continue;
    got.get(String(event["scope"]))!.push(event);
    if (event["kind"] === "loop_done" && --done === 0) break;
  }
  assert.ok(count < DELTAS, `${count} events waited`);
  for (const scope of SCOPES) {
    const [all, joined] = [wanted.get(scope)!, got.get(scope)!];
    const text = (events: Event[]): string => events.map(({ delta = "" }) => String(delta)).join("");
    assert.equal(text(joined), text(all));
    const others = (events: Event[]): Event[] => events.filter(({ kind }) => kind !== "block_delta");
    assert.deepEqual(others(joined), others(all));
    let n = -1;
    for (const event of joined.filter((each) => each["round"] === 0 && "n" in each)) {
      assert.equal(Number(event["n"]) - Number(event["merged"] ?? 1), n);
      n = Number(event["n"]);
    }
  }
});
