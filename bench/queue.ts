/** What an input costs that joins a queue: it is accepted, logged, acknowledged and shown. */
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { type Figure, micros } from "./work.ts";

/** Rounds, each in a conversation of its own, and inputs of each that are measured. */
const CYCLES = 500;
const MEASURED = 10;
const INPUTS = CYCLES * MEASURED;
const SETTLE_MS = 2;
const TEXT = "and then send it to the others, please";

/** Beside a turn that runs, so many inputs wait, and ten more join them; an interrupt returns all. */
async function queued(before: number, signal: AbortSignal): Promise<Figure> {
  await using hub = new ByteBot({ quotas: QUOTAS });
  const infer = async () => {
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async (_request, reply, { signal: stop }) => {
      reply.text("It ");
      if (!stop.aborted) await once(stop, "abort");
      throw new bb.BytebotError("cancelled", "stopped");
    });
    await satellite.start();
  };
  let returned = 0;
  let idle = Promise.withResolvers<void>();
  const here = Promise.withResolvers<bb.Satellite>();
  const ui = async () => {
    const satellite = await bb.sync({ kind: "ui", types: ["user_event", "input_state", "scope_state"] });
    satellite.on("input_state", () => void returned++);
    satellite.on("scope_state", ({ state }) => void (state === "idle" && idle.resolve()));
    here.resolve(satellite);
    await satellite.start();
  };
  hub.attachInfer({ main: infer }, { primary: true });
  hub.attach({ main: ui, kind: "ui" });
  await hub.start();
  const person = await here.promise;
  let cpu = 0;
  let ms = 0;
  const say = async (scope: string, count: number): Promise<void> => {
    const acks = await Promise.all(Array.from({ length: count }, () => person.sendUserEvent(scope, TEXT)));
    const wrong = acks.find(({ fate }) => fate !== "queued");
    if (wrong) throw new Error(`an input was ${wrong.fate}, not queued`);
  };
  const round = async (scope: string): Promise<void> => {
    idle = Promise.withResolvers();
    await person.sendUserEvent(scope, "go");
    await say(scope, before);
    // What the inputs before these have led to is done by then.
    await setTimeout(SETTLE_MS);
    const [used, started] = [process.cpuUsage(), performance.now()];
    await say(scope, MEASURED);
    cpu += micros(used);
    ms += performance.now() - started;
    await person.interrupt(scope);
    await idle.promise;
    signal.throwIfAborted();
  };
  for (let number = 0; number < CYCLES / 5; number++) await round(`u_warm/c_${number}`);
  returned = cpu = ms = 0;
  for (let number = 0; number < CYCLES; number++) await round(`u_main/c_${number}`);
  const all = CYCLES * (before + MEASURED);
  if (returned !== all) throw new Error(`${returned} of ${all} inputs were returned`);
  return { per_s: INPUTS / (ms / 1e3), cpu_us: cpu / INPUTS };
}

/** The three events of such an input, each written and read once, and its place in an array. */
async function written(): Promise<Figure> {
  const id = "u_3c9e1f0b-6a6e-4f6c-9d7a-1f1f1f1f1f1f";
  const input = { event_type: "user_event", id, type: "message", scope: "u_main/c_2", text: TEXT };
  const events = [
    input,
    { event_type: "bb_ack", in_reply_to: id, seq: 256, fate: "queued", ts: 1.7e12 },
    { ...input, from: "ui", seq: 256, cursor: "m1f2a3b4c5d6:1.0", ts: 1.7e12 },
  ];
  const waiting: unknown[] = [];
  const each = (number: number): void => {
    for (const event of events) waiting.push(JSON.parse(JSON.stringify({ ...event, number })));
    if (waiting.length > 100) waiting.shift();
  };
  for (let number = 0; number < INPUTS; number++) each(number);
  waiting.length = 0;
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let number = 0; number < INPUTS; number++) each(number);
  return {
    per_s: INPUTS / ((performance.now() - started) / 1e3),
    cpu_us: micros(cpu) / INPUTS,
  };
}

export const queue: Measure = {
  title: "An input that joins a queue, one process",
  columns: [
    { key: "per_s", title: "inputs/s", unit: "" },
    { key: "cpu_us", title: "CPU an input", unit: "µs" },
  ],
  contenders: [
    { name: "its three events written and read, in an array", role: "floor", measure: written },
    { name: "ByteBot, none waits", role: "floor", goals: { cpu_us: "≤ 1.1×" }, measure: (signal) => queued(0, signal) },
    { name: "ByteBot, 90 wait", role: "ours", measure: (signal) => queued(90, signal) },
  ],
};
