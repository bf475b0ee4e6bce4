/**
 * What a restart costs a conversation, by how much was said in it. Two kinds of 100,000 events, each built through a Hub:
 * tool calls of the app, of which the model is told nothing, so that only the length of the log counts; and blocks of
 * answers, which all go to the model with the next question.
 */
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";
import { z } from "zod";
import { inFolder } from "./files.ts";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { type Figure, percentiles } from "./work.ts";

const SCOPE = "u_1/c_1";
const REOPENED = 7;
const LANES = 50;
/** Durable events of a tool call of the app: the call, the request to its toolsource, the result. */
const EVENTS_OF_CALL = 3;
/** Blocks of an answer, one event each. */
const BLOCKS = 500;

interface Load {
  events: number;
  of: "calls" | "blocks";
  unlimited?: true;
}

interface Opened {
  hub: ByteBot;
  /** Resolves when the infer is asked next. */
  asked: () => Promise<void>;
  /** A page of the conversation's history, by a UI. */
  page: () => Promise<void>;
  /** Resolves when the turn that runs is over. */
  ended: () => Promise<void>;
}

async function open(file: string, { unlimited }: Load, blocks: number): Promise<Opened> {
  const retention = unlimited ? { events: Infinity, bytes: Infinity } : {};
  const limits = { answer: 64 * 1024 * 1024 };
  const hub = await ByteBot.open({ file, synchronous: "normal", quotas: QUOTAS, limits, retention });
  let asked = (): void => {};
  let ended = (): void => {};
  let page: Opened["page"];
  const infer = async () => {
    const satellite = await bb.sync({ kind: "infer", primary: true });
    satellite.onInfer(async (_request, reply) => {
      asked();
      for (let n = 0; n < blocks; n++) reply[n % 2 ? "thinking" : "text"](`a few tokens ok ${n}`);
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  };
  const tools = async () => {
    const satellite = await bb.sync({ kind: "toolsource" });
    const echo = { name: "echo", description: "Says it again", input: z.object({ text: z.string() }) };
    satellite.tool(bb.defineTool({ ...echo, run: ({ text }) => text }));
    await satellite.start();
  };
  const ui = async () => {
    const satellite = await bb.sync({ kind: "ui", types: ["infer_chunk"] });
    satellite.onInferChunk((event) => {
      if (event.kind === "loop_done") ended();
    });
    page = async () => {
      const result = await satellite.request({ event_type: "bb_history_request", scope: SCOPE });
      if (result["success"] !== true) throw new Error(JSON.stringify(result));
    };
    await satellite.start();
  };
  hub.attachInfer({ main: infer }, { primary: true });
  hub.attach({ main: tools, kind: "toolsource" });
  hub.attach({ main: ui, kind: "ui" });
  await hub.start();
  return {
    hub,
    asked: () => new Promise((resolve) => (asked = resolve)),
    ended: () => new Promise((resolve) => (ended = resolve)),
    page: () => page(),
  };
}

async function build(file: string, load: Load, signal: AbortSignal): Promise<void> {
  const app = await open(file, load, Math.min(BLOCKS, load.events));
  await using hub = app.hub;
  const turn = async () => {
    const ended = app.ended();
    await hub.send(SCOPE, "go on");
    await ended;
  };
  if (load.of === "blocks") {
    for (let events = 0; events < load.events && !signal.aborted; events += BLOCKS) await turn();
  } else {
    let events = 0;
    const lane = async () => {
      for (; events < load.events && !signal.aborted; events += EVENTS_OF_CALL)
        await hub.callTool(SCOPE, "echo", { text: "with a line of text to carry there and back" });
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }
  signal.throwIfAborted();
}

function measured(load: Load) {
  return (signal: AbortSignal): Promise<Figure> =>
    inFolder(async (folder) => {
      const file = `${folder}/log.db`;
      await build(file, load, signal);
      const times = { ack: [] as number[], infer: [] as number[], page: [] as number[] };
      for (let n = 0; n < REOPENED; n++) {
        signal.throwIfAborted();
        const app = await open(file, load, 1);
        await using hub = app.hub;
        const [asked, ended] = [app.asked(), app.ended()];
        let started = performance.now();
        const since = () => (performance.now() - started) * 1e3;
        const acknowledged = hub.send(SCOPE, "and now?").then(() => times.ack.push(since()));
        await asked;
        times.infer.push(since());
        await acknowledged;
        await ended;
        started = performance.now();
        await app.page();
        times.page.push(since());
      }
      return {
        ack_us: percentiles(times.ack).p50_us,
        infer_us: percentiles(times.infer).p50_us,
        page_us: percentiles(times.page).p50_us,
      };
    });
}

const goals = { ack_us: "≤ 2×", infer_us: "≤ 2×", page_us: "≤ 2×" };

function by(of: Load["of"], title: string): Measure {
  const long = { of, events: 100_000 };
  return {
    title,
    columns: [
      { key: "ack_us", title: "first input acknowledged, p50", unit: "µs" },
      { key: "infer_us", title: "its request at the infer", unit: "µs" },
      { key: "page_us", title: "a page of history", unit: "µs" },
    ],
    contenders: [
      { name: "100 events", role: "floor", goals, measure: measured({ of, events: 100 }) },
      { name: "100,000 events", role: "ours", measure: measured(long) },
      { name: "100,000 events, all of them kept", role: "also", measure: measured({ ...long, unlimited: true }) },
    ],
    rounds: 2,
  };
}

export const reopen = by("calls", "A conversation after a restart, by the length of its log");
export const reopenTold = by("blocks", "A conversation after a restart, by what the model is told of it");
