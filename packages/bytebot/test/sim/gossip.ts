import type { Event } from "../../src/wire/index.ts";
import type { Line } from "./line.ts";
import type { Random } from "./random.ts";

const KEPT = 20;

interface Heard {
  id: string;
  scope: string;
  line: Line;
}

/** What a hostile peer has learned of others, however it did: the newest ids of requests, calls and questions. */
export class Gossip {
  readonly requests: Heard[] = [];
  readonly calls: Heard[] = [];
  readonly questions: Heard[] = [];

  hear(event: Event, line: Line): void {
    const scope = String(event["scope"]);
    const list = { bb_infer_request: this.requests, bb_tool_call_request: this.calls, input_strict: this.questions }[
      event.event_type
    ];
    if (!list || event["observed"] === true) return;
    list.push({
      id: String(event["call_id"] !== undefined && list === this.calls ? event["call_id"] : event["id"]),
      scope,
      line,
    });
    if (list.length > KEPT) list.shift();
  }

  /** An id of somebody else's. */
  steal(list: readonly Heard[], random: Random, mine: (heard: Heard) => boolean): Heard | undefined {
    const others = list.filter((heard) => !mine(heard));
    return others.length === 0 ? undefined : random.pick(others);
  }
}
