import type { Block, Event, PolicyRule, ToolDefinition } from "../wire/index.ts";
import { contextOf, Infers } from "./infers.ts";
import { placeOf } from "./logged.ts";
import type { Recorded } from "./recording.ts";
import { isNotOffered, removedSince } from "./said.ts";
import { toolsOf, type PlayedTool } from "./tools.ts";

/** One call, from all that is recorded of it. */
export interface Call {
  id: string;
  name: string;
  /** What the model called it. */
  modelName: string;
  input: unknown;
  decision: PolicyRule["decision"];
  /** For its approval, and what its rule said of that. */
  question?: unknown;
  asks?: Pick<PolicyRule, "approvers" | "remember_ms">;
  /** The event that is its request, where it ran, and its result. */
  request?: Recorded;
  result?: Recorded;
}

type Approval = { name: string; input: unknown } & NonNullable<Call["asks"]>;

/** What a cell's recording says of the satellites that took part: who was asked what, and what they answered. */
export class Plan {
  readonly calls = new Map<string, Call>();
  /** The calls of each answer. */
  readonly rounds = new Map<string, Call[]>();
  /** Text that was on its way when its answer was cut short, by answer. */
  readonly partial = new Map<string, Event[]>();
  readonly tools: PlayedTool[];
  readonly infers: Infers;
  readonly context: ReturnType<typeof contextOf>;
  private readonly unheard = new Set<unknown>();
  /** The place of each request: a result that the Hub had to write does not say it. */
  private readonly places = new Map<unknown, string>();

  constructor(events: readonly Recorded[], registered: ReadonlyMap<string, ToolDefinition>) {
    this.infers = new Infers(events);
    this.context = contextOf(events);
    const ended = new Set<string>();
    for (const [index, recorded] of events.entries()) {
      const next = events[index + 1]?.event;
      const isExpired = next?.event_type === "input_resolved" && next["outcome"] === "expired";
      if (isExpired && next["id"] === recorded.event["id"] && next["ts"] === recorded.event["ts"])
        this.unheard.add(next["id"]);
      this.add(recorded, ended);
    }
    this.tools = toolsOf(events, this.calls.values(), registered);
  }

  /** Tools of this answer's calls that were not offered, or were taken away meanwhile. */
  missing(place: string, why: "not_offered" | "removed"): ReadonlySet<string> {
    const wanted = ({ result }: Call): boolean => {
      if (!result) return false;
      return why === "removed" ? removedSince(result.event) === "offered" : isNotOffered(result.event);
    };
    const missing = (this.rounds.get(place) ?? []).filter(wanted);
    return new Set(missing.map(({ modelName }) => modelName));
  }

  /** Was its tool taken away while a person thought about it? */
  isGone({ result }: Call): boolean {
    return result !== undefined && removedSince(result.event) === "asked for";
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
      case "bb_infer_result":
        ended.add(this.places.get(event["in_reply_to"]) ?? place);
        return;
      case "bb_tool_call_request":
      case "tool_call": {
        const call = this.call(id, String(event["name"]), event["input"]);
        call.name = String(event["name"]);
        if (event.event_type === "bb_tool_call_request") call.request = recorded;
        return;
      }
      case "input_strict": {
        const approval = event["approval"] as Approval | undefined;
        if (!approval) return;
        const name = approval.name.slice(approval.name.lastIndexOf("/") + 1);
        const call = this.call(id, name, approval.input);
        call.name = name;
        call.decision = "ask";
        call.question = event["id"];
        const { approvers, remember_ms } = approval;
        call.asks = { ...(approvers ? { approvers } : {}), ...(remember_ms === undefined ? {} : { remember_ms }) };
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

  private call(id: string, name: string, input: unknown): Call {
    const known = this.calls.get(id);
    if (known) return known;
    const call: Call = { id, name, modelName: name, input, decision: "allow" };
    this.calls.set(id, call);
    return call;
  }
}

function push<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
