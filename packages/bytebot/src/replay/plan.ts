import {
  BytebotError,
  type Block,
  type Event,
  type PolicyRule,
  type ToolDefinition,
  type WireError,
} from "../wire/index.ts";
import { firstText, placeOf } from "./logged.ts";
import type { Recorded } from "./recording.ts";

/** Different tools of one cell: each has a connection of its own, so that it can be lost by itself. */
const MOST_TOOLS = 1000;

export const NO_SCHEMA = "The arguments do not fit the tool's schema.";
const NOT_CHECKED = "The arguments could not be checked, so it did not run: the schema of ";
const NOT_OFFERED = /^There is no tool ".*" in this request\.$/s;
const REMOVED = /^The tool ".*" was removed or changed since it was offered\.$/s;
const GONE_SINCE = /^The tool ".*" was removed or changed since it was asked for\.$/s;
const LOST = /^The connection to (.*) was lost\. /s;
const GONE = /^(.*?) is gone: (.*)$/s;

/** One call, from all that is recorded of it. */
export interface Call {
  id: string;
  name: string;
  /** What the model called it. */
  modelName: string;
  input: unknown;
  /** Where the Hub was asked for it otherwise than by a model. */
  asked: boolean;
  decision: PolicyRule["decision"];
  /** For its approval. */
  question?: unknown;
  /** The event that is its request, where it ran, and its result. */
  request?: Recorded;
  result?: Recorded;
}

/** A tool as a recorded component has it. */
export interface PlayedTool {
  component: string;
  modelName: string;
  definition: ToolDefinition;
}

interface End {
  at: number;
  interrupted: boolean;
}

/** What a cell's recording says of the satellites that took part: who was asked what, and what they answered. */
export class Plan {
  readonly calls = new Map<string, Call>();
  /** The calls of each answer. */
  readonly rounds = new Map<string, Call[]>();
  /** Text that was on its way when its answer was cut short, by answer. */
  readonly partial = new Map<string, Event[]>();
  readonly tools: PlayedTool[];
  /** The context: its name, and how it was lost, if it was. */
  readonly context: { name: string; reason: string };
  private readonly infer: string;
  /** Those that were lost, by their requests, and by rounds. */
  private readonly infers = new Map<unknown, string>();
  private readonly infersOfRound = new Map<string, Set<string>>();
  private readonly unheard = new Set<unknown>();
  private readonly events: readonly Recorded[];
  private readonly order = new Map<Recorded, number>();
  /** The place of each request: a result that the Hub had to write does not say it. */
  private readonly places = new Map<unknown, string>();
  /** Where the turn after an input ends, by the input: of conversations below others. */
  private readonly ends = new Map<Recorded, End>();

  constructor(events: readonly Recorded[], registered: ReadonlyMap<string, ToolDefinition>) {
    this.events = events;
    this.infer = inferOf(events);
    this.context = contextOf(events);
    const ended = new Set<string>();
    for (const [index, recorded] of events.entries()) {
      this.order.set(recorded, index);
      const next = events[index + 1]?.event;
      const isExpired = next?.event_type === "input_resolved" && next["outcome"] === "expired";
      if (isExpired && next["id"] === recorded.event["id"] && next["ts"] === recorded.event["ts"])
        this.unheard.add(next["id"]);
      this.add(recorded, ended);
    }
    this.findEnds();
    this.tools = this.toolsOf(registered);
  }

  /** Tools of this answer's calls that were not offered, or were taken away meanwhile. */
  missing(place: string, why: "not_offered" | "removed"): ReadonlySet<string> {
    const pattern = why === "removed" ? REMOVED : NOT_OFFERED;
    const missing = (this.rounds.get(place) ?? []).filter(
      ({ result }) => result && pattern.test(firstText(result.event)),
    );
    return new Set(missing.map(({ modelName }) => modelName));
  }

  /** The call within which a conversation below its own begins: the one whose end ended it, else the next to end after it. */
  callAround(child: Recorded, running: Iterable<Call>): Call | undefined {
    const scope = String(child.event["scope"]);
    const { at: end, interrupted } = this.ends.get(child) ?? { at: Infinity, interrupted: false };
    const around = [...running]
      .filter(({ request }) => scope.startsWith(`${String(request?.event["scope"])}/~`))
      .map((call) => ({ call, at: call.result ? this.order.get(call.result)! : Infinity }))
      .sort((a, b) => a.at - b.at);
    const before = interrupted ? around.findLast(({ at }) => at < end) : undefined;
    return (before ?? around.find(({ at }) => at >= end))?.call;
  }

  /** Was its tool taken away while a person thought about it? */
  isGone({ result }: Call): boolean {
    return result !== undefined && GONE_SINCE.test(firstText(result.event));
  }

  /** The infer of a request: what it was called shows in how it went, or another attempt of its round. */
  inferOf(request: unknown): string {
    const [one = this.infer, another] = this.infersOf(request);
    return this.infers.get(request) ?? (another === undefined ? one : this.infer);
  }

  /** Was the infer of its round named by the context? Where attempts went to several, it was the Hub's to choose. */
  isNamed(request: unknown): boolean {
    return this.infersOf(request).size < 2;
  }

  private infersOf(request: unknown): ReadonlySet<string> {
    return this.infersOfRound.get(roundOf(this.places.get(request))) ?? new Set();
  }

  /** Was there nobody to answer this question? It had expired at once. */
  isUnheard(question: unknown): boolean {
    return this.unheard.has(question);
  }

  private add(recorded: Recorded, ended: Set<string>): void {
    const { event } = recorded;
    const place = placeOf(event);
    const id = String(event["call_id"]);
    switch (event.event_type) {
      case "infer_chunk": {
        const block = event["block"] as Block | undefined;
        if (event["kind"] !== "block_stop" || !block) return;
        if (ended.has(place)) push(this.partial, place, event);
        else if (block.type === "tool_use")
          push(this.rounds, place, this.call(String(block["id"]), String(block["name"]), block["input"]));
        return;
      }
      case "bb_infer_request":
        this.places.set(event["id"], place);
        return;
      case "bb_infer_result": {
        const request = event["in_reply_to"];
        ended.add(this.places.get(request) ?? place);
        const gone = goneOf(event);
        if (!gone) return;
        const round = roundOf(this.places.get(request));
        this.infers.set(request, gone.name);
        this.infersOfRound.set(round, (this.infersOfRound.get(round) ?? new Set()).add(gone.name));
        return;
      }
      case "bb_tool_call_request":
      case "tool_call": {
        const call = this.call(id, String(event["name"]), event["input"], true);
        call.name = String(event["name"]);
        if (event.event_type === "bb_tool_call_request") call.request = recorded;
        return;
      }
      case "input_strict": {
        const approval = event["approval"] as { name: string; input: unknown } | undefined;
        if (!approval) return;
        const name = approval.name.slice(approval.name.lastIndexOf("/") + 1);
        const call = this.call(id, name, approval.input, true);
        call.name = name;
        call.decision = "ask";
        call.question = event["id"];
        return;
      }
      case "bb_tool_call_result": {
        const call = this.calls.get(id);
        if (!call) return;
        call.result = recorded;
        if (event["status"] === "denied" && call.decision === "allow") call.decision = "deny";
      }
    }
  }

  private call(id: string, name: string, input: unknown, asked = false): Call {
    const known = this.calls.get(id);
    if (known) return known;
    const call: Call = { id, name, modelName: name, input, asked, decision: "allow" };
    this.calls.set(id, call);
    return call;
  }

  private findEnds(): void {
    const ends = new Map<unknown, End>();
    for (let index = this.events.length - 1; index >= 0; index--) {
      const recorded = this.events[index]!;
      const { event_type, kind, scope, stop_reason } = recorded.event;
      if (kind === "loop_done") ends.set(scope, { at: index, interrupted: stop_reason === "interrupted" });
      const end = ends.get(scope);
      if (event_type === "user_event" && end) this.ends.set(recorded, end);
    }
  }

  private toolsOf(registered: ReadonlyMap<string, ToolDefinition>): PlayedTool[] {
    const tools = new Map<string, PlayedTool>();
    const components = this.components();
    const byName = new Map<string, Call[]>();
    for (const call of this.calls.values()) push(byName, call.modelName, call);
    for (const [modelName, calls] of byName) {
      const call = calls.find(existed);
      if (!call) continue;
      const plain = toModelName(call.name);
      const prefix = modelName.slice(0, -plain.length - 1);
      const renamed = modelName !== plain && modelName.endsWith(`_${plain}`);
      const component = renamed ? prefix : (components.get(call.name) ?? "tools");
      const known = renamed || modelName === plain;
      const definition = define(known ? call.name : modelName, calls, registered);
      tools.set(modelName, { component, modelName, definition });
      // Its plain name was another's.
      if (renamed && !tools.has(plain))
        tools.set(plain, { component: "others", modelName: plain, definition: { ...definition, name: plain } });
      if (tools.size > MOST_TOOLS)
        throw new BytebotError("too_large", `its calls are of more than ${MOST_TOOLS} different tools`);
    }
    // A plain name goes to whoever comes first.
    return [...tools.values()].sort((a, b) => rank(a) - rank(b));
  }

  /** By the names of tools: an approval names the component, and so does a connection that was lost. */
  private components(): Map<string, string> {
    const components = new Map<string, string>();
    for (const { event } of this.events) {
      const approval = event["approval"] as { name: string } | undefined;
      const at = approval?.name.lastIndexOf("/") ?? -1;
      if (approval && at > 0) components.set(approval.name.slice(at + 1), approval.name.slice(0, at));
      const lost = event["status"] === "lost" ? LOST.exec(firstText(event)) : null;
      if (lost) components.set(String(event["name"]), lost[1]!);
    }
    return components;
  }
}

/** As it was registered; where the file does not say how, whatever takes the arguments that were taken. */
function define(name: string, calls: readonly Call[], registered: ReadonlyMap<string, ToolDefinition>): ToolDefinition {
  const known = registered.get(name);
  if (known) return known;
  const refused = calls.filter(({ result }) => result && isOfSchema(result.event)).map(({ input }) => input);
  const request = calls.find((call) => call.request)?.request?.event;
  const timeout = Number(request?.["deadline_ts"]) - Number(request?.["ts"]);
  const input_schema = { type: "object", ...(refused.length > 0 ? { not: { enum: refused } } : {}) };
  return { name, input_schema, ...(Number.isInteger(timeout) && timeout > 0 ? { timeout_ms: timeout } : {}) };
}

/** Did the Hub refuse these arguments by the tool's schema? */
export function isOfSchema(event: Event): boolean {
  const text = firstText(event);
  const said = text.startsWith(NO_SCHEMA) || text.startsWith(NOT_CHECKED);
  return said && event["synthetic"] === true && event["status"] === "error";
}

/** Whose connection was lost, and how, where an answer ended with it. */
export function goneOf(event: Event): { name: string; reason: string } | undefined {
  const { error, synthetic, kind } = event as { error?: WireError; synthetic?: boolean; kind?: string };
  const isHubs = synthetic === true || kind === "loop_done";
  const found = isHubs && error?.code === "unavailable" ? GONE.exec(error.message) : null;
  return found ? { name: found[1]!, reason: found[2]! } : undefined;
}

/** A call of it came as far as its tool, or to where only a tool's own can come. */
function existed({ request, decision, result }: Call): boolean {
  if (request || decision !== "allow") return true;
  if (!result) return false;
  const text = firstText(result.event);
  return result.event["status"] === "cancelled" || isOfSchema(result.event) || REMOVED.test(text);
}

/** All attempts of a round are of one infer. */
function roundOf(place = ""): string {
  return place.slice(0, place.lastIndexOf(" "));
}

function contextOf(events: readonly Recorded[]): { name: string; reason: string } {
  const infers = new Set<unknown>();
  for (const { event } of events) {
    const gone = goneOf(event);
    if (event.event_type === "bb_infer_result") infers.add(gone?.name);
    else if (gone && !infers.has(gone.name)) return gone;
  }
  return { name: "context", reason: "lost" };
}

function inferOf(events: readonly Recorded[]): string {
  for (const { event } of events) {
    const origin = (event["block"] as { origin?: unknown } | undefined)?.origin;
    if (typeof origin === "string") return origin.split("/", 1)[0] || "infer";
    const gone = event.event_type === "bb_infer_result" ? goneOf(event) : undefined;
    if (gone) return gone.name;
  }
  return "infer";
}

function toModelName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
}

function rank({ modelName, definition }: PlayedTool): number {
  return modelName === toModelName(definition.name) ? 0 : 1;
}

function push<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
