import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Link } from "../../src/transport/index.ts";
import { standard, wide, type Event, type LineLimits } from "../../src/wire/index.ts";
import type { RawPart } from "../fixtures/echo.ts";
import type { Ears } from "./ears.ts";

type Open = (t: TestContext) => Promise<{ link: Link; ears: Ears }>;

/** What every transport does that carries events as lines: the far end writes bytes of our choice. */
export function linesBehave(opened: Open): void {
  test("CRLF, blank lines and several records in one write are read as lines (FRM-1)", async (t) => {
    const { link, ears } = await opened(t);
    write(link, '{"event_type":"a"}\r\n\n  \r\n{"event_type":"b"}\n{"event_type":"c","text":"\\r\\n"}\n');
    assert.deepEqual(await ears.count(3), [
      { event_type: "a" },
      { event_type: "b" },
      { event_type: "c", text: "\r\n" },
    ]);
    assert.deepEqual(ears.faults, []);
  });

  test("U+2028 and U+2029, raw or escaped, are text within a line (FRM-3)", async (t) => {
    const { link, ears } = await opened(t);
    write(link, '{"event_type":"a","text":"\u2028\u2029"}\n', '{"event_type":"a","text":"\\u2028\\u2029"}\n');
    const text = "\u2028\u2029";
    assert.deepEqual(await ears.count(2), [
      { event_type: "a", text },
      { event_type: "a", text },
    ]);
  });

  test("a record that arrives byte by byte is one event, its characters whole (FRM-1)", async (t) => {
    const { link, ears } = await opened(t);
    const line = '{"event_type":"a","text":"ñ€😀"}\n';
    write(link, ...Array.from(Buffer.from(line), (byte) => Buffer.of(byte)));
    assert.deepEqual(await ears.count(1), [{ event_type: "a", text: "ñ€😀" }]);
  });

  test("a last record without its newline counts, once the far end has closed (FRM-2)", async (t) => {
    const { link, ears } = await opened(t);
    write(link, '{"event_type":"a"}\n{"event_type":"last"}');
    link.send({ event_type: "close" });
    await ears.end();
    assert.deepEqual(ears.events, [{ event_type: "a" }, { event_type: "last" }]);
  });

  test("before bb_sync a line holds 16 KiB, after it what was granted; one byte more is refused by size, and the link goes on (FRM-5)", async (t) => {
    const { link, ears } = await opened(t);
    for (const [limits, bytes] of [
      [undefined, 16 * 1024],
      [standard, 1024 * 1024],
      [wide, 16 * 1024 * 1024],
    ] as [LineLimits | undefined, number][]) {
      if (limits) link.limit(limits);
      const full = bytes - '{"event_type":"a","text":""}'.length;
      write(
        link,
        '{"event_type":"a","text":"',
        ["x", full],
        '"}\n{"event_type":"a","text":"',
        ["x", full + 1],
        '"}\n',
        '{"event_type":"after"}\n',
      );
      await ears.next("after");
      assert.equal((await ears.next("a"))["text"]?.toString().length, full);
      assert.equal(ears.faults.length, 1);
      const fault = ears.faults.pop();
      assert.equal(fault?.code, "too_large");
      assert.ok(fault?.message.includes(`${bytes + 1} bytes`) && fault.message.includes(link.name), fault?.message);
    }
    assert.equal(ears.events.filter(({ event_type }) => event_type === "a").length, 3);
  });

  test("banners, tracebacks, half a line, NaN and what is not UTF-8 are faults; the events between them arrive (FRM-4)", async (t) => {
    const { link, ears } = await opened(t);
    const noise: [string, string | Uint8Array][] = [
      ["parse_error", "Loading model… done"],
      ["parse_error", "Traceback (most recent call last):"],
      ["parse_error", '{"event_type":"half'],
      ["parse_error", '{"event_type":"a","n":NaN}'],
      ["parse_error", '\ufeff{"event_type":"a"}'],
      [
        "parse_error",
        Buffer.concat([Buffer.from('{"event_type":"a","text":"'), Buffer.of(0xc3, 0x28), Buffer.from('"}')]),
      ],
      ["invalid_event", '["event_type","a"]'],
      ["invalid_event", "42"],
      ["invalid_event", '{"type":"a"}'],
      ["invalid_event", '{"event_type":"a","n":1e400}'],
      ["invalid_event", '{"event_type":"a","n":9007199254740993}'],
      ["invalid_event", '{"event_type":"a","deep":[{"__proto__":{"admin":true}}]}'],
      ["invalid_event", '{"event_type":"a","id":"x\\u0000y"}'],
      ["invalid_event", '{"event_type":"a","scope":"\\ud800"}'],
    ];
    for (const [index, [, line]] of noise.entries()) write(link, line, `\n{"event_type":"between","index":${index}}\n`);
    await ears.count(noise.length);
    assert.deepEqual(
      ears.faults.map(({ code }) => code),
      noise.map(([code]) => code),
    );
    assert.equal(({} as { admin?: boolean }).admin, undefined);
  });

  test("of a key given twice, what was checked is what is delivered (FRM-7)", async (t) => {
    const { link, ears } = await opened(t);
    write(
      link,
      '{"event_type":"a","scope":"a","scope":"b"}\n{"event_type":"a","scope":"a","scope":"\\u0000"}\n{"event_type":"after"}\n',
    );
    await ears.next("after");
    assert.equal((await ears.next("a"))["scope"], "b");
    assert.deepEqual(await ears.codes(1), ["invalid_event"]);
  });

  test("what nests too deep or holds too many values is refused before it is parsed (FRM-6)", async (t) => {
    const { link, ears } = await opened(t);
    link.limit(standard);
    // None of these is whole JSON: had it been parsed, it would be a parse_error.
    write(link, ["[", 500_000], "\n", '{"event_type":"a","deep":', ["[", 5000], "\n");
    write(
      link,
      '{"event_type":"a","list":[',
      ['{"n":1},', 100_000],
      "\n",
      '{"event_type":"a","list":[',
      ["0,", 400_000],
      "\n",
    );
    write(link, '{"event_type":"after"}\n');
    await ears.next("after");
    assert.deepEqual(
      ears.faults.map(({ code }) => code),
      ["too_large", "too_large", "too_large", "too_large"],
    );
  });

  test("99 lines of noise are borne, 100 end the link, which names itself and the last of them (FRM-11)", async (t) => {
    const { link, ears } = await opened(t);
    write(link, ["noise\n", 99], '{"event_type":"between"}\n', ["noise\n", 10], '{"event_type":"between"}\n');
    await ears.count(2);
    assert.deepEqual(ears.closings, []);
    write(link, ["noise\n", 10], "the last straw\n", '{"event_type":"never"}\n');
    const reason = await ears.end();
    assert.ok(reason.includes(link.name) && reason.includes("the last straw") && reason.includes("stderr"), reason);
    await link.close("again");
    assert.equal(ears.faults.length, 120);
    assert.equal(ears.events.length, 2);
  });

  test("an event now and then does not excuse a stream of noise, but ten lines for each event (FRM-11)", async (t) => {
    const { link, ears } = await opened(t);
    const parts = Array.from({ length: 50 }, () => [
      ["noise\n", 10] as [string, number],
      '{"event_type":"x"}\n',
    ]).flat();
    write(link, ...parts);
    await ears.count(50);
    assert.deepEqual(ears.closings, []);
    write(link, ["noise\n", 98], '{"event_type":"x"}\n', ["noise\n", 98], '{"event_type":"never"}\n');
    await ears.end();
    assert.equal(ears.events.length, 51);
  });
}

/** Has the far end write these bytes, some of them many times, past its link. */
function write(link: Link, ...parts: (string | Uint8Array | [text: string, times: number])[]): void {
  const raw = parts.map((part): RawPart => {
    const [bytes, times] = Array.isArray(part) ? part : [part, 1];
    const buffer = typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes);
    return { base64: buffer.toString("base64"), times };
  });
  link.send({ event_type: "raw", parts: raw } satisfies Event);
}
