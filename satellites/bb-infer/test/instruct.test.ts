import assert from "node:assert/strict";
import { test } from "node:test";
import { GemmaChatWrapper } from "node-llama-cpp";
import { tools } from "../bench/questions.ts";
import { instruct } from "../src/embedded/instruct.ts";
import { said } from "./collected.ts";

const prompts = instruct(new GemmaChatWrapper());
const calls = tools.slice(1, 2);
const messages = [
  said("What is 2 + 3?"),
  {
    role: "assistant" as const,
    content: [{ type: "tool_use" as const, id: "c_1", name: "calculate", input: { expression: "2 + 3" } }],
  },
  {
    role: "user" as const,
    content: [{ type: "tool_result" as const, tool_use_id: "c_1", content: [{ type: "text" as const, text: "5" }] }],
  },
];

test("a model with a chat template is told its tools in words, and its turn ends where a name comes next", () => {
  const text = prompts.choice({ tools: calls, messages: messages.slice(0, 1) }).toString();
  assert.match(text, /calculate: Works out .*"expression".*What is 2 \+ 3\?/s);
  assert.match(text, /<start_of_turn>model\nTool:$/);
});

test("its arguments go on from the name", () => {
  const [tool] = calls;
  assert.ok(tool);
  const text = prompts.input({ tools: calls, messages: messages.slice(0, 1) }, tool).toString();
  assert.match(text, /<start_of_turn>model\nTool: calculate\nArguments: $/);
});

test("calls and results stand in its conversation as turns, and drop out oldest first where room is short", () => {
  const whole = prompts.answer({ tools: [], messages }, { limit: 1_000, tokens: (prompt) => prompt.toString().length });
  assert.match(
    whole.prompt.toString(),
    /user\nWhat is 2 \+ 3\?.*model\nTool: calculate\nArguments: \{"expression":"2 \+ 3"\}.*user\nResult: 5.*model\n$/s,
  );
  const longer = [said("x".repeat(900)), ...messages.slice(1), said("Thanks")];
  const cut = prompts.answer(
    { tools: [], messages: longer },
    { limit: 300, tokens: (prompt) => prompt.toString().length },
  );
  assert.doesNotMatch(cut.prompt.toString(), /xxx|Result/);
  assert.match(cut.prompt.toString(), /Thanks/);
  assert.ok(cut.stops.length > 0);
});
