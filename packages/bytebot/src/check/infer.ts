import { type Event, type StopReason } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import { everyBlock, why } from "./context.ts";
import { fold, textOf, type Folded } from "./fold.ts";
import type { Peer } from "./peer.ts";
import { answersOnce, apart, cancelled, linesOf } from "./requests.ts";
import type { Stage } from "./stage.ts";
import { tourOf } from "./tour.ts";
import { nameOf, offered } from "./work.ts";

const common = { kinds: ["infer"] as const, needs: "answer" as const };
const STOP_REASONS: readonly (StopReason | undefined)[] = ["end_turn", "tool_use", "max_tokens", "refusal", undefined];

export const inferChecks: Check[] = [
  {
    rule: "TRN-4",
    title: "It answers a request with one bb_infer_result",
    kinds: ["infer"],
    gate: "answer",
    fix: 'on bb_infer_request send infer_chunks, then bb_infer_result, all with "in_reply_to": its id',
    run: async (stage) => {
      const peer = await stage.attach();
      const work = await stage.work(peer);
      peer.send(work.event);
      await stage.answer(peer, work);
    },
  },
  { ...common, ...answersOnce },
  { ...common, ...apart },
  { ...common, ...cancelled },
  {
    ...common,
    rule: "TRN-4",
    title: "Each chunk names an open request in in_reply_to: none comes before it, none after its result",
    fix: 'put "in_reply_to": the request\'s id into every infer_chunk, and send the result last',
    run: async (stage) => {
      const peer = await stage.attach();
      const works = [await stage.work(peer), await stage.work(peer, { scope: stage.scope(peer, "c_2") })];
      peer.send(...works.map(({ event }) => event));
      await Promise.all(works.map((work) => stage.answer(peer, work)));
      await stage.alive(peer);
      const open = new Set(works.map(({ key }) => key));
      for (const event of peer.events()) {
        if (event.event_type === "bb_infer_result") open.delete(String(event["in_reply_to"]));
        if (event.event_type !== "infer_chunk" || event["kind"] === "loop_done") continue;
        if (open.has(String(event["in_reply_to"]))) continue;
        const got = event["in_reply_to"] === undefined ? "a chunk without in_reply_to" : "a chunk of no open request";
        throw new Unmet("chunks of open requests", got, linesOf([event]));
      }
    },
  },
  {
    ...common,
    rule: "CHK-1",
    title: "Its chunks fit together: a block is started once, keeps its type and its index, and ends once",
    fix: "count index up for each new block of an answer, from 0, and start a tool_use with its name",
    run: async (stage) => {
      for (const { misfit } of (await answers(stage)).map(({ folded }) => folded)) {
        if (misfit) throw new Unmet("a chunk that fits", misfit.why, linesOf([misfit.chunk]));
      }
    },
  },
  {
    ...common,
    rule: "CHK-4",
    title: "It never sends loop_done: its last word is bb_infer_result",
    run: async (stage) => {
      const peer = await tourOf(stage);
      const done = peer.events("infer_chunk").find(({ kind }) => kind === "loop_done");
      if (done) throw new Unmet("no loop_done", "one", linesOf([done]));
    },
  },
  {
    ...common,
    rule: "CHK-6",
    title: "The block of a block_stop, and the result's content, say what the deltas added up to",
    run: async (stage) => {
      for (const { folded, result } of await answers(stage)) agree(folded, result);
    },
  },
  {
    ...common,
    rule: "CHK-6",
    title: "The arguments of its tool calls are a JSON object",
    level: "SHOULD",
    run: async (stage) => {
      const calls = await toolCalls(stage);
      for (const { name, text } of calls) {
        if (!isJsonObject(text))
          throw new Unmet(`a JSON object as the arguments of ${name}`, JSON.stringify(text.slice(0, 200)));
      }
    },
  },
  {
    ...common,
    rule: "TRN-5",
    title: "It calls only tools that the request offered",
    level: "SHOULD",
    run: async (stage) => {
      for (const { name, among } of await toolCalls(stage)) {
        if (!among.includes(name))
          throw new Unmet(
            `a call of ${among.join(" or ") || "nothing: no tool was offered"}`,
            `a call of ${JSON.stringify(name)}`,
          );
      }
    },
  },
  {
    ...common,
    rule: "TRN-10",
    title: "Its stop_reason is end_turn, tool_use, max_tokens, refusal, or left out",
    run: async (stage) => {
      const results = (await tourOf(stage)).events("bb_infer_result").filter(({ success }) => success === true);
      const wrong = results.find(({ stop_reason }) => !STOP_REASONS.includes(stop_reason as StopReason | undefined));
      if (wrong) throw new Unmet("one of these", JSON.stringify(wrong["stop_reason"]), linesOf([wrong]));
    },
  },
  {
    ...common,
    rule: "TRN-4",
    title: "It answers a conversation with every kind of block, and a request that is not streamed",
    run: async (stage) => {
      const peer = await stage.attach();
      for (const say of [{ messages: everyBlock(), tools: offered }, { extra: { stream: false, attempt: 1 } }]) {
        const work = await stage.work(peer, say);
        peer.send(work.event);
        await stage.answer(peer, work);
      }
    },
  },
];

interface Answer {
  folded: Folded;
  result: Event;
  request: Event;
}

/** The answers of a whole exchange. Throws Inapplicable where none succeeded. */
async function answers(stage: Stage): Promise<Answer[]> {
  const peer = await tourOf(stage);
  const results = peer.events("bb_infer_result").filter(({ success }) => success === true);
  if (results.length === 0) throw new Inapplicable(`it infers nothing here: ${failure(peer)}`);
  return results.flatMap((result) => {
    const key = result["in_reply_to"];
    const request = peer.asked.get(String(key));
    const chunks = peer.events("infer_chunk").filter(({ in_reply_to }) => in_reply_to === key);
    return request ? [{ folded: fold(chunks), result, request }] : [];
  });
}

function failure(peer: Peer): string {
  const failed = peer.events("bb_infer_result")[0];
  return failed ? why(failed) : "it did not answer";
}

/** Throws Unmet where what was streamed and what is said to have been streamed differ. */
function agree({ blocks }: Folded, result: Event): void {
  for (const [index, { type, text, block }] of blocks) {
    if (!block || text === "") continue;
    if (block["type"] !== type || !isSame(type, text, textOf(block))) {
      throw new Unmet(
        `block ${index} as its deltas: ${JSON.stringify(text.slice(0, 200))}`,
        JSON.stringify(block).slice(0, 200),
      );
    }
  }
  const content = result["content"];
  if (!Array.isArray(content) || blocks.size === 0) return;
  const streamed = [...blocks].sort(([a], [b]) => a - b).map(([, { type, text }]) => ({ type, text }));
  const said = (content as Record<string, unknown>[]).map((block) => ({
    type: String(block["type"]),
    text: textOf(block),
  }));
  const same =
    streamed.length === said.length &&
    streamed.every(({ type, text }, at) => said[at]!.type === type && isSame(type, text, said[at]!.text));
  if (!same)
    throw new Unmet(
      `content as its chunks: ${JSON.stringify(streamed).slice(0, 200)}`,
      JSON.stringify(content).slice(0, 200),
      linesOf([result]),
    );
}

function isSame(type: string, streamed: string, whole: string): boolean {
  if (type !== "tool_use") return streamed === whole;
  const text = streamed.trim();
  try {
    return JSON.stringify(text === "" || text === "null" ? {} : JSON.parse(text)) === whole;
  } catch {
    return true; // arguments that are no JSON are another check's
  }
}

async function toolCalls(stage: Stage): Promise<{ name: string; text: string; among: string[] }[]> {
  const calls = (await answers(stage)).flatMap(({ folded, result, request }) => {
    const among = ((request["tools"] ?? []) as unknown[]).map(nameOf);
    const streamed = [...folded.blocks.values()];
    const whole = streamed.length > 0 ? [] : ((result["content"] ?? []) as Record<string, unknown>[]);
    return [
      ...streamed,
      ...whole.map((block) => ({ type: String(block["type"]), name: String(block["name"]), text: textOf(block) })),
    ]
      .filter(({ type }) => type === "tool_use")
      .map(({ name = "", text }) => ({ name, text, among }));
  });
  if (calls.length === 0) throw new Inapplicable("it called no tool here");
  return calls;
}

function isJsonObject(text: string): boolean {
  if (text.trim() === "" || text.trim() === "null") return true;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
