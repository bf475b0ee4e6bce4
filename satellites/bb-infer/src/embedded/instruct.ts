import type { Message, ModelTool } from "bytebot/sdk";
import { LlamaText, type ChatHistoryItem, type ChatWrapper } from "node-llama-cpp";
import { isResult, textOf } from "./messages.ts";
import { fitting, NONE, type Asked, type Prompts, type Room } from "./prompt.ts";

/** A model that brings a chat template: it is told in words what a base model is shown by example. */
export function instruct(wrapper: ChatWrapper): Prompts {
  const render = (system: string, messages: readonly Message[], begun: string) => {
    const chatHistory: ChatHistoryItem[] = [
      ...(system ? [{ type: "system" as const, text: system }] : []),
      ...merged(messages),
      { type: "model", response: begun ? [begun] : [] },
    ];
    return wrapper.generateContextState({ chatHistory });
  };
  const choice = ({ system = "", tools, messages }: Asked, begun: string) =>
    LlamaText(render(`${system}\n\n${manual(tools)}`.trim(), messages, begun).contextText);
  const answer = ({ system = "", messages }: Asked, room: Room) => {
    const prompt = fitting(messages, (some) => render(system, some, "").contextText, room);
    return { prompt, stops: render(system, messages.slice(-1), "").stopGenerationTriggers };
  };
  return {
    nameEnd: "\n",
    choice: (asked) => choice(asked, "Tool:"),
    input: (asked, { name }) => choice(asked, `Tool: ${name}\nArguments: `),
    answer,
    shaped(asked, room, schema) {
      if (!schema) return answer(asked, room);
      const told = `Answer with JSON that fits this schema, and nothing else: ${JSON.stringify(schema)}`;
      return answer({ ...asked, system: `${asked.system ?? ""}\n\n${told}`.trim() }, room);
    },
  };
}

function manual(tools: readonly ModelTool[]): string {
  const list = tools.map(
    ({ name, description, input_schema }) =>
      `- ${name}: ${description ?? ""} Arguments: ${JSON.stringify(input_schema)}`,
  );
  return `You can call one of these tools:\n${list.join("\n")}\nFirst write "Tool: " and the name of the one you need, or "Tool: ${NONE}" where none is needed. Then write "Arguments: " and its arguments as JSON.`;
}

/** Chat templates want user and model in turns: results are told as the user's, calls as the model's. */
function merged(messages: readonly Message[]): ChatHistoryItem[] {
  const items: ChatHistoryItem[] = [];
  for (const message of messages) {
    const text = message.content
      .map((block) => (block.type === "tool_use" ? called(block) : textOf(block)))
      .join("\n")
      .trim();
    const last = items.at(-1);
    if (message.role === "assistant") items.push({ type: "model", response: [text] });
    else if (last?.type === "user") last.text += `\n${text}`;
    else items.push({ type: "user", text: isResult(message) ? `Result: ${text}` : text });
  }
  return items;
}

function called({ name, input }: { name?: unknown; input?: unknown }): string {
  return `Tool: ${String(name)}\nArguments: ${JSON.stringify(input ?? {})}`;
}
