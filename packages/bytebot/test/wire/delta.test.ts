import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { decode, encode, isSentDelta, schemas, type Event } from "../../src/wire/index.ts";
import { decodeOrCode } from "./lines.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\u2028", '"', "\\", "\n", "\ud83d", "\udc00", "é", "😀", "a", "\0") }),
);
const plainName = fc.stringMatching(/^[a-z]{1,9}$/);
const name = fc.oneof(fc.stringMatching(/^[!-~]{1,40}$/), text);
const count = fc.oneof(fc.nat(), fc.constantFrom(-1, 1.5, 2 ** 53 - 1, 2 ** 53, 1e300, 1_764_000_000_000));
const fields = {
  event_type: fc.constantFrom("infer_chunk", "infer_chunk", "infer_chunk", "other"),
  kind: fc.constantFrom("block_delta", "block_stop"),
  index: count,
  block_type: fc.constantFrom("text", "thinking", "tool_use", "image"),
  delta: text,
};
const place = { scope: name, loop_id: name, round: count, attempt: count, n: count, ts: count };
const requiredKeys = ["event_type", "kind"] as const;
const sent = fc.record({ ...fields, in_reply_to: name, extra: text }, { requiredKeys: [...requiredKeys] });
const stamped = fc.record({ ...fields, ...place, extra: text }, { requiredKeys: [...requiredKeys] });
/** With its fields in canonical order, all of them there. */
const bare = fc
  .tuple(fc.record({ ...fields, event_type: fc.constant("infer_chunk") }), fc.record(place), name, fc.boolean())
  .map(([{ event_type, kind, index, block_type, delta }, at, in_reply_to, isSent]): Event => {
    const block = { kind, index, block_type, delta };
    return isSent ? { event_type, in_reply_to, ...block } : { event_type, ...block, ...at };
  });

/** The general way: leading space is JSON, and no canonical form. */
const slowly = (line: string): Event | string => decodeOrCode(` ${line}`);

suite("a delta that is read, checked and written by hand", () => {
  test("is valid by its schema, and written as JSON writes it (ENV-7, CHK-1)", () => {
    fc.assert(
      fc.property(sent, (event) => {
        if (isSentDelta(event)) assert.ok(schemas.infer_chunk.safeParse(event).success);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.oneof(stamped, sent, bare), (event) =>
        assert.deepEqual(JSON.parse(encode(event)), JSON.parse(JSON.stringify(event))),
      ),
      { numRuns: 2000 },
    );
  });

  test("is read as any other line is, whatever is in it (FRM-7, FRM-8)", () => {
    fc.assert(
      fc.property(fc.array(bare, { maxLength: 4 }), (events) => {
        for (const line of events.map((event) => JSON.stringify(event)))
          assert.deepEqual(decodeOrCode(line), slowly(line));
      }),
      { numRuns: 2000 },
    );
  });

  test("is read as any other line is, with some characters changed, left out or doubled", () => {
    const change = fc.record({
      at: fc.nat(),
      cut: fc.nat(3),
      put: fc.string({ unit: fc.constantFrom(...' "\\}{:,0u\n1.-e'.split("")) }),
    });
    fc.assert(
      fc.property(bare, fc.array(change, { minLength: 1, maxLength: 3 }), (event, changes) => {
        let line = JSON.stringify(event);
        // The third of a run: what it shares with the others is only compared.
        for (let n = 0; n < 2; n++) assert.deepEqual(decodeOrCode(line), slowly(line));
        for (const { at, cut, put } of changes) {
          const from = at % line.length;
          line = line.slice(0, from) + put + line.slice(from + cut);
        }
        assert.deepEqual(decodeOrCode(line), slowly(line));
      }),
      { numRuns: 5000 },
    );
  });

  test("is read as any other line is in a run of one block, with another text, number or time behind the same start", () => {
    const odd = fc.string({ unit: fc.constantFrom(...'0129.-eE",:}{ \\u'.split("")), maxLength: 6 });
    const tail = fc.oneof(odd, fc.constantFrom("0", "7", "07", "123456789012345", "12345678901234567"));
    const json = fc.oneof(
      text.map((value) => JSON.stringify(value)),
      tail,
    );
    fc.assert(
      fc.property(plainName, fc.boolean(), json, tail, tail, (name, isSent, delta, n, ts) => {
        const block = `"kind":"block_delta","index":0,"block_type":"text","delta":`;
        const place = `,"scope":"${name}","loop_id":"l","round":0,"attempt":0,"n":`;
        const line = (text: string, n: string, ts: string): string =>
          isSent
            ? `{"event_type":"infer_chunk","in_reply_to":"${name}",${block}${text}}`
            : `{"event_type":"infer_chunk",${block}${text}${place}${n},"ts":${ts}}`;
        for (let times = 0; times < 2; times++) decodeOrCode(line('"hi"', "1", "2"));
        const next = line(delta, n, ts);
        for (const each of [
          next,
          `${next}${n}`,
          next.slice(0, -1),
          `${next.slice(0, -1)}]`,
          next.replace('"ts"', '"tt"'),
        ])
          assert.deepEqual(decodeOrCode(each), slowly(each));
      }),
      { numRuns: 3000 },
    );
  });

  test("comes in runs, and keeps its own place where another's came before it", () => {
    const at = (scope: string, round: number, n: number): Event => ({
      ...{ event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "text", delta: `${scope}\n${n}` },
      ...{ scope, loop_id: "l_1", round, attempt: 0, n, ts: 1_764_000_000_000 + n },
    });
    const events = [at("a", 0, 0), at("a", 0, 1), at("b/c", 0, 0), at("a", 1, 0), at("a", 0, 2), at("a", 0, 2)];
    for (const event of events) {
      assert.equal(encode(event), `${JSON.stringify(event)}\n`);
      assert.deepEqual(decode(Buffer.from(JSON.stringify(event))), event);
    }
  });
});

test("a bare delta takes the short way", () => {
  const event = { event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "text", delta: "hi" };
  assert.ok(isSentDelta({ ...event, in_reply_to: "i_1" }));
});
