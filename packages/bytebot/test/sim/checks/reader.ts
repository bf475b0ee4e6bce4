import assert from "node:assert/strict";
import { cellOf, encloses, type Event } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";

/** What the log shows to UIs; the types as the spec names them, apart from the Hub's own `present`. */
const SHOWN: Record<string, string> = {
  bb_tool_call_request: "tool_call",
  bb_tool_call_result: "tool_result",
  ...Object.fromEntries(
    [
      "user_event",
      "interrupt",
      "infer_chunk",
      "tool_call",
      "input_strict",
      "input_resolved",
      "input_state",
      "conversation_title",
      "conversation_deleted",
    ].map((type) => [type, type]),
  ),
};

interface Durable {
  /** Its place among all events of all cells. */
  at: number;
  cell: string;
  seq: number;
  scope: string;
  type: string;
}

interface Reading {
  /** By cell: the `seq` of what it was sent. */
  got: Map<string, number[]>;
  /** How many events the log had when it went live: all after them has to come. */
  liveAt: number | undefined;
  chunks: Map<string, Chunks>;
  /** Scopes that it saw idle, with no input since. */
  idle: Set<string>;
  /** It resumes: all from that event of the log on has to come; undefined: it does not. */
  from: number | undefined;
  /** The place in the log of the last durable event that it was shown. */
  last: number;
  /** By cell, the `seq` below which a snapshot stands for all. */
  snapshots: Map<string, number>;
}

/** One attempt of an answer, as one reader has it. */
interface Chunks {
  n: number;
  text: Map<number, string>;
}

/** A UI sees every durable event of its scopes once and in order; chunks without a gap; and text that adds up (RPL-2, CHK-2 to CHK-6). */
export class Reader implements Check {
  private readonly readings = new Map<Line, Reading>();
  private readonly durable: Durable[] = [];
  private readonly known = new Set<string>();
  private readonly finished = new Map<Line, Reading>();
  /** By attempt: how many events the log had when it was asked for. */
  private readonly asked = new Map<string, number>();
  private logged = 0;
  /** By entry, in the log's order: how many events came before it. */
  private readonly firsts: number[] = [];
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  committed({ cell, pos, events }: Kept): void {
    this.firsts.push(this.logged);
    for (const [index, event] of events.entries()) {
      const at = this.logged++;
      const scope = String(event["scope"]);
      if (event.event_type === "bb_infer_request") this.asked.set(attemptOf(event), at);
      const type = SHOWN[event.event_type];
      if (!type) continue;
      const seq = pos * 256 + index;
      this.known.add(`${seq} ${scope}`);
      this.durable.push({ at, cell, seq, scope, type });
    }
  }

  received(line: Line, event: Event): void {
    const resume = event["resume"] as "start" | string[] | undefined;
    if (event.event_type !== "bb_sync" || line.offer.kind !== "ui" || resume === undefined) return;
    this.reading(line).from = resume === "start" ? 0 : this.placeAfter(resume[0]!);
  }

  private reading(line: Line): Reading {
    let reading = this.readings.get(line);
    if (!reading) {
      reading = {
        ...{ got: new Map(), liveAt: undefined, chunks: new Map(), idle: new Set() },
        ...{ from: undefined, last: -1, snapshots: new Map() },
      };
      this.readings.set(line, reading);
    }
    return reading;
  }

  /** Of the event after the one with this cursor. */
  private placeAfter(cursor: string): number {
    const [, order, index] = /:(\d+)(?:\.(\d+))?$/.exec(cursor)!;
    const next = index === undefined ? this.firsts[Number(order)] : this.firsts[Number(order) - 1]! + Number(index) + 1;
    return next ?? this.logged;
  }

  sent(line: Line, event: Event): void {
    if (line.offer.kind !== "ui") return;
    const reading = this.reading(line);
    if (event.event_type === "bb_live") reading.liveAt = this.logged;
    state(reading, event, line);
    const { seq, cursor, scope } = event;
    if (event.event_type === "bb_snapshot") return this.snapshot(reading, event, line);
    if (event.event_type === "infer_chunk" && event["kind"] !== "loop_done" && !isReplayed(reading, event))
      this.chunk(reading, event, line);
    if (
      typeof seq !== "number" ||
      typeof scope !== "string" ||
      event.event_type === "input_strict" ||
      event.event_type.startsWith("bb_")
    )
      return;
    const cell = cellOf(scope);
    assert.ok(
      this.known.has(`${seq} ${scope}`),
      `${line.name} is shown ${event.event_type} ${String(cursor)}, which no log has`,
    );
    const got = reading.got.get(cell) ?? [];
    assert.ok(seq > (got.at(-1) ?? 0), `${line.name} is shown seq ${seq} of ${cell} after ${got.at(-1)}`);
    got.push(seq);
    reading.got.set(cell, got);
    const place = this.placeAfter(String(cursor));
    const inOrder = place > reading.last || this.stage.faults.lost > 0;
    assert.ok(inOrder, `${line.name} is shown ${String(cursor)} in the order of the log (RPL-4)`);
    reading.last = place;
  }

  /** It stands for what is no longer kept, for whoever has missed that (RPL-7). */
  private snapshot(reading: Reading, event: Event, line: Line): void {
    // A fork begins with one.
    if (event["forked_from"] !== undefined) return;
    const cell = cellOf(String(event["scope"]));
    const pos = Math.floor(Number(event["seq"]) / 256);
    // It may have been trimmed further since the reader was at that entry.
    assert.ok(
      pos <= (this.stage.log.bases.get(cell) ?? 0),
      `${line.name} gets the snapshot of ${cell} where it was trimmed`,
    );
    const seen = reading.got.get(cell)?.at(-1) ?? 0;
    assert.ok(seen < pos * 256, `${line.name} gets a snapshot of ${cell} in its place`);
    reading.snapshots.set(cell, pos * 256);
  }

  closed(line: Line): void {
    const reading = this.readings.get(line);
    if (reading) this.finished.set(line, reading);
    this.readings.delete(line);
  }

  end(): void {
    for (const [line, reading] of this.readings) this.complete(line, reading, true);
    for (const [line, reading] of this.finished) this.complete(line, reading, false);
  }

  /** Without a gap from the first it saw; and to the end, where it is still there. */
  private complete(line: Line, { got, liveAt, from, snapshots }: Reading, open: boolean): void {
    const expected = new Map<string, number[]>();
    for (const { at, cell, seq, scope, type } of this.durable) {
      if (type === "input_strict" || !line.offer.scopes.some((granted) => encloses(granted, scope))) continue;
      const first = got.get(cell)?.[0] ?? Infinity;
      if (from === undefined && seq < first && (!open || liveAt === undefined || at < liveAt)) continue;
      if (from !== undefined && at < from) continue;
      if (seq < (snapshots.get(cell) ?? 0) && got.get(cell)?.includes(seq) !== true) continue;
      const seqs = expected.get(cell);
      if (seqs) seqs.push(seq);
      else expected.set(cell, [seq]);
    }
    for (const [cell, seqs] of expected) {
      const seen = got.get(cell) ?? [];
      const want = open ? seqs : seqs.slice(0, seen.length);
      assert.deepEqual(seen, want, `${line.name} saw every durable event of ${cell} once, in order`);
    }
  }

  private chunk(reading: Reading, event: Event, line: Line): void {
    const { kind, index } = event;
    const n = Number(event["n"]);
    // The one before what it stands for (rule CHK-7).
    const before = n - Number(event["merged"] ?? 1);
    const key = attemptOf(event);
    const where = `${line.name}: chunk ${n} of ${key}`;
    const at = Number(index);
    let chunks = reading.chunks.get(key);
    // Joined in mid-answer: the open blocks so far, each with the last `n`.
    const joining = reading.liveAt === undefined;
    if (!chunks) {
      // One that began after the reader went live is seen from its first chunk.
      if (!joining && (this.asked.get(key) ?? 0) >= reading.liveAt!) assert.equal(before, -1, `${where} is its first`);
      chunks = { n, text: new Map() };
      reading.chunks.set(key, chunks);
    } else if (!(joining && n === chunks.n)) assert.equal(before, chunks.n, `${where} follows ${chunks.n}`);
    chunks.n = n;
    if (kind === "block_start") {
      assert.ok(!chunks.text.has(at), `${where}: block ${at} starts once`);
      chunks.text.set(at, "");
    }
    if (kind === "block_delta") chunks.text.set(at, (chunks.text.get(at) ?? "") + String(event["delta"]));
    if (kind === "block_stop") this.whole(event, chunks.text.get(at), where);
  }

  private whole(event: Event, text: string | undefined, where: string): void {
    const block = event["block"] as {
      type: string;
      text?: string;
      thinking?: string;
      input?: unknown;
      malformed?: unknown;
    };
    if (text === undefined || text === "") return;
    if (block.type === "text") assert.equal(block.text, text, `${where}: the block is what its deltas add up to`);
    if (block.type === "thinking")
      assert.equal(block.thinking, text, `${where}: the block is what its deltas add up to`);
    if (block.type === "tool_use" && !("malformed" in block)) {
      assert.deepEqual(block.input, JSON.parse(text), `${where}: the arguments are what the deltas add up to`);
    }
  }
}

/** A whole block of the log, without its deltas: of an answer that is over, or whose open block is still to come. */
function isReplayed({ from, liveAt, chunks }: Reading, event: Event): boolean {
  return from !== undefined && liveAt === undefined && event["seq"] !== undefined && !chunks.has(attemptOf(event));
}

/** Idle means that nothing waits: only new input makes it run again (TRN-9). */
function state({ idle }: Reading, { event_type, scope, state }: Event, line: Line): void {
  const where = String(scope);
  if (event_type === "user_event") idle.delete(where);
  if (event_type !== "scope_state") return;
  if (state === "idle") idle.add(where);
  else assert.ok(!idle.has(where), `${line.name} saw ${where} idle, and it ran again without a new input`);
}

function attemptOf({ loop_id, round, attempt }: Event): string {
  return `${String(loop_id)} ${String(round)} ${String(attempt)}`;
}
