import assert from "node:assert/strict";
import type { Block, Event, Message } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Check } from "./check.ts";

/** Each inference request is one that the strictest provider takes, and a repeated one says the same. */
export class Provider implements Check {
  private readonly rounds = new Map<string, string>();

  sent(_line: Line, event: Event): void {
    if (event.event_type !== "bb_infer_request" || event["observed"] === true) return;
    const messages = event["messages"] as Message[];
    const what = `inference ${String(event["id"])}`;
    strict(messages, what);
    const round = `${String(event["loop_id"])} ${String(event["round"])}`;
    const said = JSON.stringify(messages);
    // The first attempt may never have left: its infer was gone by then.
    const before = this.rounds.get(round);
    if (before !== undefined) assert.equal(said, before, `${what} repeats what was asked`);
    this.rounds.set(round, said);
  }
}

export function strict(messages: readonly Message[], what: string): void {
  assert.ok(messages.length > 0, `${what} has messages`);
  assert.equal(messages.at(-1)!.role, "user", `${what} ends with the user`);
  let asked: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const where = `${what}, message ${index}`;
    assert.equal(role, index % 2 === 0 ? "user" : "assistant", `${where}: roles alternate, the user first`);
    assert.ok(content.length > 0, `${where} has content`);
    for (const block of content) if (block.type === "text") assert.notEqual(block["text"], "", `${where} has text`);
    const results = content.filter((block) => block.type === "tool_result").map((block) => block["tool_use_id"]);
    assert.deepEqual(results, asked, `${where}: the results of the calls before it, in their order`);
    const first = content.slice(0, results.length) as Block[];
    assert.ok(
      first.every((block) => block.type === "tool_result"),
      `${where}: results come first`,
    );
    asked = content.filter((block) => block.type === "tool_use").map((block) => String(block["id"]));
  }
  assert.deepEqual(asked, [], `${what}: every call has its result`);
}
