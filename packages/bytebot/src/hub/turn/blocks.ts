import {
  BytebotError,
  isSentDelta,
  Pieces,
  type Block,
  type Event,
  type BlockDelta,
  type InferChunk,
} from "../../wire/index.ts";
import { charactersOf, tooLong } from "../tools/answer.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mustFitTranscript } from "./fit.ts";
import type { Conversation, OpenBlock, Phase, Turn } from "../state.ts";

type Inferring = Extract<Phase, { step: "inferring" }>;

/**
 * Folds one chunk of the running request into its blocks, stamps it with its place, and shows it (rules CHK-1 to CHK-4).
 * Starts and deltas are live; a whole block is durable.
 */
export function chunk(core: Core, conversation: Conversation, turn: Turn, phase: Inferring, event: InferChunk): void {
  if (turn.stopping) return; // what came after the interrupt was never seen, and is not kept
  if (!phase.xml) return native(core, conversation, turn, phase, event);
  for (const each of phase.xml.chunks(event)) native(core, conversation, turn, phase, each);
}

/** One chunk of an infer with native tools, or what a chunk of another comes to. */
function native(core: Core, conversation: Conversation, turn: Turn, phase: Inferring, event: InferChunk): void {
  // It was told that the answer is too long: what is on its way all the same is no new mistake.
  if (phase.size > core.limits.answer && !(event.kind === "block_stop" && phase.open.has(event.index))) return;
  switch (event.kind) {
    case "block_start":
      start(core, phase, event.index, event.block_type, event.name);
      break;
    case "block_delta":
      delta(core, phase, event);
      break;
    case "block_stop":
      return stop(core, conversation, turn, phase, event);
    case "loop_done":
      throw new BytebotError("not_authority", "loop_done is the Hub's to say: send bb_infer_result");
  }
  const shown = stamp(conversation, turn, phase, event);
  shown["ts"] = core.now;
  core.effect(conversation.scope, { type: "publish", event: shown });
}

/**
 * A delta of a block that is open, from the infer that was asked: nothing can come of it but this. Answers the delta to
 * show, as `chunk` would show it; undefined says only that the general way has to look, as it has wherever more may come
 * of a delta than its text.
 */
export function relay(core: Core, now: number, from: ConnectionId, event: Event): Event | undefined {
  if (!isSentDelta(event)) return undefined;
  const connection = core.synced(from);
  const pending = core.pending.get(event.in_reply_to!);
  if (connection?.grant.kind !== "infer" || pending?.to !== from) return undefined;
  const conversation = core.conversations.get(pending.scope);
  const turn = conversation?.turn;
  if (turn?.phase.step !== "inferring" || turn.stopping) return undefined;
  const { phase } = turn;
  // Tools as text: what a delta becomes is the parser's to say.
  if (phase.xml) return undefined;
  const open = phase.open.get(event.index);
  if (open?.type !== event.block_type || phase.size + event.delta.length > core.limits.answer) return undefined;
  core.now = phase.heard = now;
  phase.size += event.delta.length;
  open.said.add(event.delta);
  return stampDelta(conversation!, turn, phase, event, now);
}

/**
 * What an infer sent was refused: a call that it was a part of, or may have been, is not whole, and does not run on what is
 * left of it (rule CHK-6). `event`: the chunk; undefined: a line that was no event, whosever it was.
 */
export function missed(core: Core, from: ConnectionId, event?: Event): void {
  const named = event && core.pending.get(String(event["in_reply_to"]));
  for (const pending of event ? (named ? [named] : []) : core.pending.values()) {
    const phase = pending.to === from ? core.conversations.get(pending.scope)?.turn?.phase : undefined;
    if (phase?.step !== "inferring") continue;
    // Written as text, a call has another index than the text that it comes in.
    const blocks = event && !phase.xml ? [phase.open.get(Number(event["index"]))] : phase.open.values();
    for (const open of blocks) if (open?.type === "tool_use") open.cut = true;
  }
}

function start(core: Core, phase: Inferring, index: number, type: OpenBlock["type"], name: string | undefined): void {
  if (phase.open.has(index) || phase.blocks[index] !== undefined) {
    throw new BytebotError("invalid_event", `infer_chunk: block ${index} was started already`);
  }
  if (type === "tool_use" && name === undefined) {
    throw new BytebotError("invalid_event", "infer_chunk: the start of a tool_use block names its tool");
  }
  const open: OpenBlock = { index, type, said: new Pieces() };
  if (name !== undefined) open.name = name;
  if (type === "tool_use") open.callId = core.newId("c");
  phase.open.set(index, open);
}

function delta(core: Core, phase: Inferring, event: Extract<InferChunk, { kind: "block_delta" }>): void {
  if (!phase.open.has(event.index)) {
    if (event.block_type === "tool_use")
      throw new BytebotError("invalid_event", `infer_chunk: block ${event.index} has no start`);
    start(core, phase, event.index, event.block_type, undefined);
  }
  const open = phase.open.get(event.index)!;
  if (open.type !== event.block_type)
    throw new BytebotError("invalid_event", `infer_chunk: block ${event.index} is ${open.type}`);
  count(core, phase, event.delta.length);
  open.said.add(event.delta);
}

/** An answer is bounded, whichever way it comes (rule CHK-1). */
function count(core: Core, phase: Inferring, characters: number): void {
  if (phase.xml) return; // it counts what comes, as less or more may become of it
  phase.size += characters;
  if (phase.size > core.limits.answer) throw tooLong(core.limits.answer);
}

function stop(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  phase: Inferring,
  event: Extract<InferChunk, { kind: "block_stop" }>,
): void {
  const block = signed(phase, closed(core, phase, event));
  phase.blocks[event.index] = block;
  core.append(conversation.scope, stamp(conversation, turn, phase, { ...event, block }));
}

/** What a `block_stop` closes: an open block; or one that comes whole, an image say. */
function closed(core: Core, phase: Inferring, event: Extract<InferChunk, { kind: "block_stop" }>): Block {
  const open = phase.open.get(event.index);
  if (event.block) {
    mustFitTranscript(event.block);
    count(core, phase, charactersOf(event.block, open !== undefined && open.said.text !== ""));
  }
  phase.open.delete(event.index);
  if (open) return whole(open, event.block);
  if (!event.block || phase.blocks[event.index] !== undefined) {
    throw new BytebotError("invalid_event", `infer_chunk: block ${event.index} is not open`);
  }
  return event.block.type === "tool_use" ? whole(asOpen(core, event.block), event.block) : event.block;
}

/** The block as it is kept: the text folded from its deltas wins; a tool_use gets the Hub's id, the provider's stays as `alias`. */
export function whole(open: OpenBlock, sent: Block | undefined): Block {
  if (open.type === "text")
    return { ...sent, type: "text", text: open.said.text === "" ? textOf(sent) : open.said.text };
  if (open.type === "thinking")
    return { ...sent, type: "thinking", thinking: open.said.text === "" ? thinkingOf(sent) : open.said.text };
  const alias = sent?.type === "tool_use" && typeof sent.id === "string" ? { alias: sent.id } : {};
  return { ...toolUse(open, sent), ...alias, id: open.callId!, name: open.name! };
}

/** The arguments: as the infer parsed them, else from the deltas; what is no JSON is kept as `malformed` and never runs. */
function toolUse(open: OpenBlock, sent: Block | undefined): Extract<Block, { type: "tool_use" }> {
  if (sent?.type === "tool_use" && (sent.input !== undefined || "malformed" in sent))
    return sent as Extract<Block, { type: "tool_use" }>;
  const text = open.said.text.trim();
  const base = { type: "tool_use" as const, name: open.name ?? "" };
  if (open.cut) {
    const reason = "a part of it was refused on its way here";
    return { ...base, input: null, malformed: text.slice(0, 2000).toWellFormed(), reason };
  }
  if (text === "" || text === "null") return { ...base, input: {} };
  try {
    const input: unknown = JSON.parse(text);
    // What the text unfolds to is an event's content too: no deeper, no other keys than a line may have.
    mustFitTranscript(input);
    return { ...base, input };
  } catch {
    return { ...base, input: null, malformed: text.slice(0, 2000).toWellFormed() };
  }
}

/** Signed thinking says whose it is: to another model it does not go back (rule CNV-8). */
function signed(phase: Inferring, block: Block): Block {
  if (block.type !== "thinking" || block["signature"] === undefined) return block;
  return { ...block, origin: phase.origin };
}

function textOf(block: Block | undefined): string {
  return block?.type === "text" ? (block as { text: string }).text : "";
}

function thinkingOf(block: Block | undefined): string {
  return block?.type === "thinking" ? (block as { thinking: string }).thinking : "";
}

/** Scope, loop, round, attempt and the next `n`; what an infer wrote there is replaced. */
export function stamp(conversation: Conversation, turn: Turn, phase: { n: number }, event: Event): Event {
  if (isSentDelta(event)) return stampDelta(conversation, turn, phase, event, 0);
  const { in_reply_to: _, merged: __, ...rest } = event;
  return {
    ...rest,
    event_type: "infer_chunk",
    scope: conversation.scope,
    loop_id: turn.loopId,
    round: turn.round,
    attempt: turn.attempt,
    n: phase.n++,
  };
}

/** The same, in a shape of its own: this is where a Hub's time goes. */
function stampDelta(
  { scope }: Conversation,
  { loopId: loop_id, round, attempt }: Turn,
  phase: { n: number },
  { index, block_type, delta }: BlockDelta,
  ts: number,
): Event {
  const n = phase.n++;
  const kind = "block_delta";
  return { event_type: "infer_chunk", kind, index, block_type, delta, scope, loop_id, round, attempt, n, ts };
}

/** For a reader that joins in mid-block: each open block so far, as its start and one delta (rule CHK-5). */
export function openChunks(conversation: Conversation): Event[] {
  const { turn } = conversation;
  if (turn?.phase.step !== "inferring") return [];
  const at = {
    scope: conversation.scope,
    loop_id: turn.loopId,
    round: turn.round,
    attempt: turn.attempt,
    n: turn.phase.n - 1,
  };
  return [...turn.phase.open.values()].flatMap((open) => {
    const place = { event_type: "infer_chunk", index: open.index, block_type: open.type, ...at };
    const begin = { ...place, kind: "block_start", ...(open.name === undefined ? {} : { name: open.name }) };
    const delta = open.said.text;
    return delta === "" ? [begin] : [begin, { ...place, kind: "block_delta", delta }];
  });
}

/**
 * What is kept of an answer that was cut short: text that was seen, logged and marked; no unsigned thinking, no half a
 * call (rule INT-5).
 */
export function keepSeen(core: Core, conversation: Conversation, turn: Turn, phase: Inferring): Block[] {
  for (const { index, type, said } of phase.open.values()) {
    const { text } = said;
    if (type !== "text" || text === "") continue;
    const block = { type: "text" as const, text, interrupted: true };
    phase.blocks[index] = block;
    const chunk = { event_type: "infer_chunk", kind: "block_stop", index, block };
    core.append(conversation.scope, stamp(conversation, turn, phase, chunk));
  }
  phase.open.clear();
  return phase.blocks.filter(isKept); // which passes over holes
}

export function isKept(block: Block): boolean {
  return block.type === "thinking" ? block["signature"] !== undefined : block.type !== "tool_use";
}

/** The blocks of a finished request: those folded from its chunks, else the result's own content; each is logged (rule TRN-4). */
export function finished(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  phase: Inferring,
  content: readonly Block[] | undefined,
): Block[] {
  if (phase.xml) {
    for (const each of phase.xml.end(content)) native(core, conversation, turn, phase, each);
  }
  const streamed = phase.xml !== undefined || phase.open.size > 0 || phase.blocks.length > 0;
  if (!streamed) mustFitTranscript(content);
  const missing = streamed
    ? [...phase.open.values()].map((open) => ({ index: open.index, block: whole(open, undefined) }))
    : (content ?? []).map((block, index) => ({
        index,
        block: block.type === "tool_use" ? whole(asOpen(core, block), block) : block,
      }));
  phase.open.clear();
  for (const { index, block: whole } of missing) {
    const block = signed(phase, whole);
    phase.blocks[index] = block;
    core.append(
      conversation.scope,
      stamp(conversation, turn, phase, { event_type: "infer_chunk", kind: "block_stop", index, block }),
    );
  }
  return phase.blocks.filter((block) => block !== undefined);
}

function asOpen(core: Core, block: Block): OpenBlock {
  return { index: 0, type: "tool_use", name: String(block["name"]), callId: core.newId("c"), said: new Pieces() };
}
