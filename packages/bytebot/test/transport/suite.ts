import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Link, Receiver } from "../../src/transport/index.ts";
import { standard, type Event } from "../../src/wire/index.ts";
import { Ears } from "./ears.ts";
import { linesBehave } from "./suite-lines.ts";

/** A connection whose far end is `fixtures/echo.ts`. */
export interface Opened {
  link: Link;
  /** Makes the far end stop reading; what it returns lets it go on. Absent where nothing is ever queued. */
  stall?: () => () => void;
  /** Fails if something of the connection is still there after both sides saw it close. */
  nothingLeft: () => Promise<void>;
}

/** What every transport does, whatever carries it. `bytes`: events cross as lines, so the far end can write others. */
export function behavesAsAConnection(
  name: string,
  bytes: boolean,
  open: (receiver: Receiver, t: TestContext) => Promise<Opened>,
): void {
  const opened = async (t: TestContext): Promise<Opened & { ears: Ears }> => {
    const ears = new Ears();
    const connection = await open(ears, t);
    t.after(() => connection.link.close("the test is over"));
    return { ...connection, ears };
  };

  suite(name, { concurrency: 4 }, () => {
    test("events arrive whole and in the order they were sent, both ways (CON-1)", async (t) => {
      const { link, ears } = await opened(t);
      for (let n = 0; n < 2000; n++) link.send({ event_type: "count", n });
      const echoes = (await ears.count(2000)).map(({ event }) => event);
      assert.deepEqual(
        echoes,
        Array.from({ length: 2000 }, (_, n) => ({ event_type: "count", n })),
      );
    });

    test("text of any language, control characters and line separators come back as they were (FRM-3)", async (t) => {
      const { link, ears } = await opened(t);
      const text = "añ€😀\u2028\u2029\u0085\r\n\t\0\u007f\ufeff\uffff👩‍👩‍👧‍👦";
      link.send({ event_type: "text", text });
      assert.deepEqual((await ears.next("echo"))["event"], { event_type: "text", text });
    });

    test("an event changed after it was sent does not change what was sent, or refuses to", async (t) => {
      const { link, ears } = await opened(t);
      const event: Event = { event_type: "count", n: 1 };
      link.send(event);
      if (Reflect.set(event, "n", 2)) link.send(event);
      else link.send({ ...event, n: 2 });
      assert.deepEqual(
        (await ears.count(2)).map((echo) => (echo["event"] as Event)["n"]),
        [1, 2],
      );
    });

    test("half a character is replaced in text and refused in a name (FRM-8)", async (t) => {
      const { link, ears } = await opened(t);
      link.send({ event_type: "text", text: "cut \ud83d here" });
      link.send({ event_type: "text", id: "cut \ud83d here" });
      assert.equal(((await ears.next("echo"))["event"] as Event)["text"], "cut \ufffd here");
      assert.equal((await ears.next("refused"))["code"], "invalid_event");
    });

    test("what readers of JSON disagree on is refused, and the link goes on (FRM-6, FRM-7)", async (t) => {
      const { link, ears } = await opened(t);
      const bad: [string, Event][] = [
        ["invalid_event", { event_type: "x", n: 2 ** 53 }],
        ["invalid_event", { event_type: "x", id: "a\0b" }],
        ["invalid_event", JSON.parse('{"event_type":"x","deep":[{"__proto__":{"admin":true}}]}') as Event],
        ["invalid_event", JSON.parse('{"event_type":"x","constructor":1}') as Event],
        ["invalid_event", { event_type: "" }],
        ["too_large", { event_type: "x", deep: nested(64) }],
      ];
      for (const [, event] of bad) link.send(event);
      link.send({ event_type: "deep enough", deep: nested(62) });
      await ears.next("echo");
      // Over HTTP the inbox has answered each of these lines by itself too.
      const told = ears.events.filter(({ event_type }) => event_type !== "bb_error");
      assert.deepEqual(
        told.map((event) => event["code"]),
        [...bad.map(([code]) => code), undefined],
      );
    });

    test("an event that JSON cannot carry is a fault, and the link goes on", async (t) => {
      const { link, ears } = await opened(t);
      link.send({ event_type: "x", n: 1n });
      link.send({ event_type: "after" });
      await ears.next("echo");
      const refused = [...ears.faults.map(({ code }) => code), ...ears.events.flatMap(({ code }) => code ?? [])];
      assert.deepEqual(refused, ["invalid_event"]);
    });

    test("a receiver that throws has a fault of its own, and the link goes on", async (t) => {
      const { link, ears } = await opened(t);
      link.send({ event_type: "throw" });
      assert.match(String((await ears.next("refused"))["text"]), /the receiver failed/);
      link.send({ event_type: "after" });
      await ears.next("echo");
    });

    test("closed here, it is closed there, once; nothing is told or sent afterwards", async (t) => {
      const { link, ears, nothingLeft } = await opened(t);
      link.send({ event_type: "before" });
      await ears.next("echo");
      await Promise.all([link.close("we are done"), link.close("again")]);
      link.send({ event_type: "after" });
      await link.drained();
      await link.close("again");
      await nothingLeft();
      assert.deepEqual(ears.closings, ["we are done"]);
      assert.equal(ears.events.length, 1);
    });

    test("closed there, it is closed here, once, after the last event", async (t) => {
      const { link, ears, nothingLeft } = await opened(t);
      link.send({ event_type: "flood", count: 20_000 });
      link.send({ event_type: "close" });
      await ears.end();
      assert.equal(ears.events.length, 20_000);
      await link.close("we too");
      await nothingLeft();
      assert.equal(ears.closings.length, 1);
    });

    test("closed on both sides at once, each is told once", async (t) => {
      const { link, ears, nothingLeft } = await opened(t);
      link.send({ event_type: "close" });
      await link.close("we are done");
      await nothingLeft();
      assert.equal(ears.closings.length, 1);
    });

    test("what was sent just before the close still arrives, and is answered", async (t) => {
      const { link, ears } = await opened(t);
      link.limit(standard);
      const last = { event_type: "last", text: "x".repeat(300_000) };
      link.send(last);
      await link.close("we are done");
      assert.deepEqual(ears.events, [{ event_type: "echo", event: last }]);
    });

    test("a far end that does not read holds the sender up; when it reads again, all arrives", async (t) => {
      const { link, ears, stall } = await opened(t);
      link.limit(standard);
      const goOn = stall?.();
      for (let n = 0; n < 80; n++) link.send({ event_type: "fill", text: "x".repeat(100_000) });
      const drained = link.drained().then(() => "drained");
      if (goOn) {
        assert.equal(await Promise.race([drained, setImmediate("held up")]), "held up");
        assert.ok(link.buffered > 4_000_000, `buffered ${link.buffered}`);
        goOn();
      }
      await drained;
      assert.ok(link.buffered < 1024 * 1024, `buffered ${link.buffered}`);
      await ears.count(80);
    });

    if (bytes) linesBehave(opened);
  });
}

function nested(depth: number): unknown {
  return depth === 0 ? 0 : [nested(depth - 1)];
}
