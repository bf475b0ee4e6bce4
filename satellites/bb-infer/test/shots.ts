/** A base model has learned no conversation: it goes on with one that has a pattern. */
import type { InferRequestEvent, ModelTool } from "bytebot/sdk";
import { said } from "./collected.ts";

type Message = InferRequestEvent["messages"][number];

export const calculate: ModelTool = {
  name: "calculate",
  description: "Works out arithmetic.",
  input_schema: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] },
};

/** A question, the call it led to, and the call's result. */
export function called(question: string, name: string, input: object, result: string): Message[] {
  const id = `c_${question.length}_${JSON.stringify(input).length}`;
  return [
    said(question),
    { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: result }] }] },
  ];
}

/** Each question is answered by a call: the next one will be too. */
export const calls: Message[] = [
  ...called("What is 2 plus 3?", "calculate", { expression: "2 + 3" }, "5"),
  ...called("What is 9 times 4?", "calculate", { expression: "9 * 4" }, "36"),
];

export const answered = (text: string): Message => ({ role: "assistant", content: [{ type: "text", text }] });
