import assert from "node:assert/strict";
import { cellOf, type Event, type Message } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";

interface Said {
  id: string;
  tokens: string[];
  fate: "accepted" | "returned";
}

/**
 * Every input that is in the log has one fate: it stands in the transcript once, or it was returned and does not. What
 * the models are shown at the end says so, and where all input queued, in its order.
 */
export class Transcript implements Check {
  private readonly stage: Stage;
  /** By scope, the newest request. */
  private readonly shown = new Map<string, Message[]>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  sent(_line: Line, event: Event): void {
    if (event.event_type !== "bb_infer_request" || event["observed"] === true) return;
    this.shown.set(String(event["scope"]), event["messages"] as Message[]);
  }

  end(): void {
    for (const [scope, said] of this.inputs()) {
      const messages = this.shown.get(scope) ?? [];
      const texts = messages.filter(({ role }) => role === "user").flatMap(({ content }) => content.flatMap(tokensOf));
      const accepted = said.filter(({ fate }) => fate === "accepted").flatMap(({ tokens }) => tokens);
      assert.deepEqual(
        texts.toSorted(),
        accepted.toSorted(),
        `the transcript of ${scope} holds each accepted input once`,
      );
      const modes = new Set(said.map(({ id }) => this.modes.get(`${scope} ${id}`)));
      if ([...modes].every((mode) => mode === "queue")) {
        assert.deepEqual(texts, accepted, `the inputs of ${scope} became turns in their order`);
      }
    }
  }

  private readonly modes = new Map<string, string>();

  /** What the log holds of each conversation: also what was said before its log refused something. */
  private inputs(): Map<string, Said[]> {
    const scopes = new Map<string, Said[]>();
    for (const { events } of this.stage.log.entries) {
      for (const event of events) {
        const scope = String(event["scope"]);
        const said = scopes.get(scope) ?? [];
        scopes.set(scope, said);
        if (event.event_type === "user_event") {
          said.push({ id: String(event["id"]), tokens: tokensOf(event), fate: "accepted" });
          const mode = event["mode"];
          this.modes.set(
            `${scope} ${String(event["id"])}`,
            mode === undefined || mode === "refuse" ? "queue" : (mode as string),
          );
        }
        // A fork begins with all that was said where it was forked; of what was deleted nothing is left.
        if (event["forked_from"] !== undefined)
          said.push({ id: "fork", tokens: tokensOf(userOf(event)), fate: "accepted" });
        if (event.event_type === "conversation_deleted")
          for (const [other, list] of scopes) if (cellOf(other) === scope) list.length = 0;
        if (event.event_type !== "input_state") continue;
        const input = said.findLast(({ id }) => id === event["id"]);
        if (input) input.fate = "returned";
      }
    }
    for (const [scope, said] of scopes) if (said.length === 0 || cellOf(scope) === "") scopes.delete(scope);
    return scopes;
  }
}

/** What users said, of a snapshot. */
function userOf({ state }: Event): Message[] {
  return (state as { messages: Message[] }).messages.filter(({ role }) => role === "user");
}

export function tokensOf(value: unknown): string[] {
  return JSON.stringify(value).match(/\[#\d+\]/g) ?? [];
}
