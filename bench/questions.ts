/** A question open in each of 1,000 conversations at once: asked by a context, shown to a UI, answered, told to everybody. */
import { setImmediate } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { SCOPES, scopeOf } from "./pace.ts";
import { type Figure, micros } from "./work.ts";

const ROUNDS = 10;
const PROMPT = "May the report be sent to everybody on the list?";
const OPTIONS = ["yes", "no"];

async function asked(signal: AbortSignal): Promise<Figure> {
  await using hub = new ByteBot({ quotas: QUOTAS });
  const context = Promise.withResolvers<bb.Satellite>();
  const waiting: bb.InputStrictEvent[] = [];
  let all = Promise.withResolvers<void>();
  const ui = Promise.withResolvers<bb.Satellite>();
  const join = (kind: "ui" | "context", came: PromiseWithResolvers<bb.Satellite>) => async () => {
    const satellite = await bb.sync({ kind, inputCapable: kind === "ui", types: kind === "ui" ? TYPES : undefined });
    satellite.on("input_strict", (question) => {
      if (waiting.push(question) === SCOPES) all.resolve();
    });
    came.resolve(satellite);
    await satellite.start();
  };
  hub.attach({ main: join("context", context), kind: "context" });
  hub.attach({ main: join("ui", ui), kind: "ui" });
  await hub.start();
  const [asker, person] = await Promise.all([context.promise, ui.promise]);
  const scopes = Array.from({ length: SCOPES }, (_, number) => scopeOf(number));

  let cpu = process.cpuUsage();
  let started = performance.now();
  let heap = NaN;
  for (let round = 0; round < ROUNDS + 1; round++) {
    signal.throwIfAborted();
    // The first one warms up; how much its open questions take is read while nothing is measured.
    if (round === 1) [cpu, started] = [process.cpuUsage(), performance.now()];
    all = Promise.withResolvers();
    const before = round === 0 ? await heapUsed() : 0;
    const answers = scopes.map((scope) => asker.ask(scope, { prompt: PROMPT, options: OPTIONS }));
    await all.promise;
    if (round === 0) heap = (await heapUsed()) - before;
    await Promise.all(waiting.splice(0).map((question) => person.answer(question, "accepted", "yes")));
    for (const { value } of await Promise.all(answers))
      if (value !== "yes") throw new Error(`a question was answered with ${String(value)}`);
  }
  const count = ROUNDS * SCOPES;
  const seconds = (performance.now() - started) / 1e3;
  return { per_s: count / seconds, cpu_us: micros(cpu) / count, kib: heap / SCOPES / 1024 };
}

const TYPES = ["input_strict", "input_resolved"];

async function heapUsed(): Promise<number> {
  await setImmediate();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** The five events of a question, each written and read once. */
async function written(): Promise<Figure> {
  const scope = scopeOf(0);
  const question = { prompt: PROMPT, options: OPTIONS };
  const events = [
    { event_type: "bb_input_request", id: "q_4f1c0d22", scope, ...question },
    { event_type: "input_strict", id: "q_90ab12cd34", scope, ...question, expires_at: 1.7e12, seq: 256, ts: 1.7e12 },
    { event_type: "input_reply", id: "a_77e0", in_reply_to: "q_90ab12cd34", scope, outcome: "accepted", value: "yes" },
    { event_type: "input_resolved", id: "q_90ab12cd34", scope, outcome: "accepted", by: "ui", seq: 512, ts: 1.7e12 },
    {
      event_type: "bb_input_result",
      in_reply_to: "q_4f1c0d22",
      scope,
      success: true,
      outcome: "accepted",
      value: "yes",
    },
  ];
  const count = ROUNDS * SCOPES;
  const kept = new Map<string, unknown>();
  const once = (number: number) => {
    for (const event of events) kept.set(event.event_type, JSON.parse(JSON.stringify({ ...event, number })));
  };
  for (let number = 0; number < count; number++) once(number);
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let number = 0; number < count; number++) once(number);
  return { per_s: count / ((performance.now() - started) / 1e3), cpu_us: micros(cpu) / count };
}

export const questions: Measure = {
  title: "A question open in each of 1,000 conversations, one process",
  columns: [
    { key: "per_s", title: "questions/s", unit: "" },
    { key: "cpu_us", title: "CPU a question", unit: "µs" },
    { key: "kib", title: "heap an open question", unit: "KiB" },
  ],
  contenders: [
    { name: "its five events written and read", role: "floor", measure: written },
    { name: "ByteBot, context → Hub → ui and back", role: "ours", measure: asked },
  ],
};
