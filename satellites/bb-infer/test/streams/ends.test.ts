import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { chunk } from "../formats/chat.ts";
import {
  answer,
  call,
  compatible,
  converse,
  count,
  event,
  formats,
  gemini,
  messages,
  say,
  stop,
  think,
  whole,
  type Format,
} from "../formats/index.ts";
import { ask, never } from "./asking.ts";
import { hangs, plays, serving, type Play } from "./server.ts";

const soon = { first_ms: 150, idle_ms: 150, total_ms: 20_000 };
/** Of these only the end of the connection says that nothing more comes. */
const unmarked: readonly Format[] = [gemini, converse];

for (const format of formats) {
  test(`${format.name}: a stream without an end is an error, however it is cut (hard case 16)`, async (t) => {
    for (const steps of [[], [say("Half")], [think("Half")]]) {
      const server = await serving(t, plays(format, format.events(...steps)));
      const { error } = await ask(format, server, { retry: never });
      assert.deepEqual([error?.code, error?.retryable], ["unavailable", true], JSON.stringify(steps));
    }
  });

  test(`${format.name}: silence before the headers, after them and in mid-text ends in time, and the connection with it (hard case 16)`, async (t) => {
    const silences: [string, Play][] = [
      ["before the headers", () => undefined],
      ["after the headers", hangs(format, [Buffer.from(":\n\n").subarray(format === converse ? 3 : 0)])],
      ["in mid-text", hangs(format, format.events(say("One moment")))],
      [
        "in mid-frame",
        hangs(format, [...format.events(say("One")), format.events(say("moment")).at(-1)!.subarray(0, 9)]),
      ],
    ];
    for (const [where, play] of silences) {
      const server = await serving(t, play);
      const { error } = await ask(format, server, { timeouts: soon, retry: never });
      assert.deepEqual([error?.code, error?.retryable], ["timeout", true], `${where}: ${error?.message}`);
      assert.match(error?.message ?? "", /0\.15 s/, where);
      await server.heard[0]!.closed;
    }
  });

  test(`${format.name}: a reply that drips on for good has a deadline for all of it (hard case 16)`, async (t) => {
    const drip = format.events(say("x")).at(-1)!;
    const server = await serving(t, async (response) => {
      await hangs(format, format.events(say("x")))(response);
      const gone = once(response, "close");
      while (!response.destroyed) {
        response.write(drip);
        await Promise.race([gone, delay(20)]);
      }
    });
    const { error, reply } = await ask(format, server, { timeouts: { first_ms: 5000, idle_ms: 5000, total_ms: 300 } });
    assert.deepEqual([error?.code, server.heard.length], ["timeout", 1], error?.message);
    assert.match(reply.said, /^x+$/);
    await server.heard[0]!.closed;
  });

  test(`${format.name}: a server that says why it stops, and then nothing more, has answered (hard case 16)`, async (t) => {
    // Of what a format says twice, the name of an event is what servers leave out.
    const nameless = (frame: Buffer) =>
      format === converse ? frame : Buffer.from(frame.toString().replace(/^event: .*\n/, ""));
    const frames = format.events(say("All"), count({ input: 12, output: 7 }), stop("end_turn"));
    if (format === messages) frames.push(format.end);
    const server = await serving(t, hangs(format, frames.map(nameless)));
    const { reply, end, error } = await ask(format, server, { timeouts: { ...soon, idle_ms: 300 } });
    assert.equal(error, undefined);
    assert.deepEqual([reply.said, end?.stop_reason, end?.usage?.output_tokens], ["All", "end_turn", 7]);
    await server.heard[0]!.closed;
  });

  test(`${format.name}: a text that speaks of stop reasons is a text (hard case 16)`, async (t) => {
    const text =
      'x"finish_reason":"stop","finishReason": "STOP","type":"message_stop","type":"response.completed" :event-type\u0007\u0000\u000bmessageStop';
    const server = await serving(t, hangs(format, format.events(say(text))));
    const { error } = await ask(format, server, { timeouts: { ...soon, idle_ms: 300 }, retry: never });
    assert.match(error?.message ?? "", /has sent nothing for 0\.3 s/);
  });

  test(`${format.name}: a call whose arguments speak of stop reasons has not ended the reply (hard case 16)`, async (t) => {
    const args = JSON.stringify({
      finishReason: "STOP",
      finish_reason: "stop",
      candidates: [{ finishReason: "STOP" }],
    });
    const server = await serving(t, hangs(format, format.events(call("add", "a", args))));
    const { error } = await ask(format, server, { timeouts: { ...soon, idle_ms: 300 }, retry: never });
    assert.match(error?.message ?? "", /has sent nothing for 0\.3 s/);
  });

  if (!unmarked.includes(format)) {
    test(`${format.name}: what comes after the end is dropped, and a server that leaves its connection open has answered (hard case 16)`, async (t) => {
      const after = format.events(say(" and more")).at(-1)!;
      const server = await serving(t, hangs(format, [...answer(format, "All"), after]));
      const { reply, end, error } = await ask(format, server, { timeouts: { ...soon, idle_ms: 10_000 } });
      assert.equal(error, undefined);
      assert.deepEqual([reply.said, end?.stop_reason], ["All", "end_turn"]);
      await server.heard[0]!.closed;
    });
  }

  test(`${format.name}: two thousand deltas of one byte arrive whole, as do deltas that say nothing (hard case 16)`, async (t) => {
    const bytes = Array.from({ length: 2000 }, (_, n) => say(String(n % 10)));
    const server = await serving(t, plays(format, whole(format, say(""), ...bytes, say(""), stop("end_turn"))));
    const { reply, error } = await ask(format, server);
    assert.equal(error, undefined);
    assert.equal(reply.said, "0123456789".repeat(200));
  });
}

test("an empty stop reason on each chunk is none: a pause is no end, and a reply without another is cut (hard case 16)", async (t) => {
  const frames = ["One", " moment"].map((content) => chunk({ content }, { finish_reason: "" }));
  const silent = await serving(t, hangs(compatible, frames));
  const pause = await ask(compatible, silent, { timeouts: { ...soon, idle_ms: 300 }, retry: never });
  assert.match(pause.error?.message ?? "", /has sent nothing for 0\.3 s/);
  const server = await serving(t, plays(compatible, [...frames, compatible.end]));
  const { error, reply } = await ask(compatible, server, { retry: never });
  assert.equal(reply.said, "One moment");
  assert.match(error?.message ?? "", /ended the reply before it was complete/);
});

test("Gemini: an unspecified stop reason, or an empty one, is none (hard case 16)", async (t) => {
  for (const finishReason of ["FINISH_REASON_UNSPECIFIED", ""]) {
    const candidates = [{ content: { role: "model", parts: [{ text: "One" }] }, finishReason }];
    const server = await serving(t, hangs(gemini, [event({ candidates })]));
    const { error } = await ask(gemini, server, { timeouts: { ...soon, idle_ms: 300 }, retry: never });
    assert.match(error?.message ?? "", /has sent nothing for 0\.3 s/);
  }
});
