import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Message } from "bytebot/sdk";
import { request, said } from "../collected.ts";
import { answer, formats } from "../formats/index.ts";
import { add, ask } from "./asking.ts";
import { plays, serving } from "./server.ts";
import { mustBeStrict } from "./strict.ts";

const use = (id: string): Block => ({ type: "tool_use", id, name: "add", input: { a: 1 } });
const result = (id: string, text: string): Block => ({
  type: "tool_result",
  tool_use_id: id,
  content: text === "" ? [] : [{ type: "text", text }],
});
const model = (...content: Block[]): Message => ({ role: "assistant", content });
const user = (...content: Block[]): Message => ({ role: "user", content });
const text = (value: string): Block => ({ type: "text", text: value });

/** What the Hub sends: neighbours of one role are one message, and no text is blank (see `hub.test.ts`). */
const histories: [string, ...Message[]][] = [
  ["text that ends in blanks", said("One "), model(text("ok \n")), said(" Two")],
  ["several texts in one message", user(text("One"), text("Two")), model(text("a"), text("b")), said("Three")],
  ["a result last", said("One"), model(use("c_1")), user(result("c_1", "2"))],
  ["an empty result", said("One"), model(use("c_1")), user(result("c_1", ""))],
  [
    "what the person said before the results",
    said("One"),
    model(text("So"), use("c_1"), use("c_2")),
    user(text("Quick!"), result("c_1", "2"), result("c_2", "3")),
  ],
];

for (const format of formats) {
  for (const [what, ...messages] of histories) {
    test(`${format.name}: ${what} makes a request that the strictest provider takes (hard case 15)`, async (t) => {
      const server = await serving(t, plays(format, answer(format, "ok")));
      const { error } = await ask(format, server, { request: request({ messages, tools: [add] }) });
      assert.equal(error, undefined);
      const turns = format.toTurns(server.heard[0]!.body);
      mustBeStrict(turns);
      // Texts of one message may become one.
      const sent = turns.flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : ""))).join("");
      for (const { content } of messages) {
        for (const block of content)
          if (block.type === "text") assert.ok(sent.includes(String(block["text"]).trim()), `${sent} lacks a text`);
      }
    });
  }
}
