import type { ServerResponse } from "node:http";

/** What a request asks for, in whichever format it came. */
export interface Asked {
  /** The last text of the last message. */
  question: string;
  system: string;
  maxTokens: number;
  forced: boolean;
  hasSchema: boolean;
  hasImage: boolean;
  hasResult: boolean;
  thinks: boolean;
  /** Of thinking that came back. */
  signatures: string[];
}

/** One answer. */
export interface Said {
  pieces: string[];
  call?: { name: string; json: string[] };
  thinking?: string | undefined;
  signature?: string;
  stop?: "stop" | "length";
  /** It is not over. */
  goesOn?: true;
  usage?: { input: number; output: number; cached: number } | undefined;
}

type Body = Record<string, unknown>;
interface Sent {
  role: string;
  content: unknown;
}

/** OpenAI's chat completions. */
export function fromChat(body: Body): Asked {
  const messages = body["messages"] as Sent[];
  const parts = messages.flatMap(({ content }) => partsOf(content));
  return {
    question: textOf(messages.findLast(({ role }) => role !== "tool")?.content),
    system: textOf(messages.find(({ role }) => role === "system")?.content),
    maxTokens: Number(body["max_tokens"] ?? Infinity),
    forced: body["tool_choice"] === "required",
    hasSchema: (body["response_format"] as Body | undefined)?.["type"] === "json_schema",
    hasImage: parts.some(({ type }) => type === "image_url"),
    hasResult: messages.some(({ role }) => role === "tool"),
    thinks: body["reasoning_effort"] !== undefined,
    signatures: [],
  };
}

/** Anthropic's messages. */
export function fromMessages(body: Body): Asked {
  const messages = body["messages"] as Sent[];
  const parts = messages.flatMap(({ content }) => partsOf(content));
  const config = (body["output_config"] ?? {}) as Body;
  return {
    question: textOf(messages.at(-1)?.content),
    system: textOf(body["system"]),
    maxTokens: Number(body["max_tokens"]),
    forced: (body["tool_choice"] as Body | undefined)?.["type"] === "any",
    hasSchema: config["format"] !== undefined || body["output_format"] !== undefined,
    hasImage: parts.some(({ type }) => type === "image"),
    hasResult: parts.some(({ type }) => type === "tool_result"),
    thinks: body["thinking"] !== undefined || config["effort"] !== undefined,
    signatures: parts.filter(({ type }) => type === "thinking").map(({ signature }) => String(signature)),
  };
}

function partsOf(content: unknown): Body[] {
  return Array.isArray(content) ? (content as Body[]) : [];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = partsOf(content).filter(({ type }) => type === "text") as { text: string }[];
  return texts.at(-1)?.text ?? "";
}

/** Writes answers as chat completions stream; `atOnce`: their text in one piece. */
export function toChat(response: ServerResponse, atOnce: boolean): (said: Said) => void {
  begin(response);
  const delta = (delta: object, finish_reason: string | null = null) =>
    void response.write(`data: ${JSON.stringify({ id: "c_1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  return ({ pieces, call, thinking, stop = "stop", usage, goesOn }) => {
    if (thinking) delta({ reasoning_content: thinking });
    for (const content of atOnce ? [pieces.join("")] : pieces) delta({ content });
    if (call) {
      const [first = "", ...rest] = call.json;
      delta({ tool_calls: [{ index: 0, id: "call_1", function: { name: call.name, arguments: first } }] });
      for (const json of rest) delta({ tool_calls: [{ index: 0, function: { arguments: json } }] });
    }
    if (goesOn) return;
    delta({}, call ? "tool_calls" : stop);
    if (usage) response.write(`data: ${JSON.stringify({ id: "c_1", choices: [], usage: chatUsage(usage) })}\n\n`);
    response.write("data: [DONE]\n\n");
  };
}

function chatUsage({ input, output, cached }: NonNullable<Said["usage"]>): object {
  return { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: { cached_tokens: cached } };
}

const NOTHING = { input: 0, output: 0, cached: 0 };

/** Writes answers as Anthropic's messages stream. */
export function toMessages(response: ServerResponse, atOnce: boolean): (said: Said) => void {
  begin(response);
  const event = (type: string, fields: object) =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  return ({ pieces, call, thinking, signature, stop = "stop", usage = NOTHING, goesOn }) => {
    const { input, output, cached } = usage;
    const counted = { input_tokens: input, output_tokens: 1, cache_read_input_tokens: cached };
    const about = { id: "m_1", type: "message", role: "assistant", model: "claude-sonnet-4-6", content: [] };
    event("message_start", { message: { ...about, stop_reason: null, stop_sequence: null, usage: counted } });
    let index = 0;
    const block = (content_block: object, deltas: object[]) => {
      event("content_block_start", { index, content_block });
      for (const delta of deltas) event("content_block_delta", { index, delta });
      event("content_block_stop", { index: index++ });
    };
    if (thinking) {
      const deltas = [
        { type: "thinking_delta", thinking },
        { type: "signature_delta", signature },
      ];
      block({ type: "thinking", thinking: "", signature: "" }, deltas);
    }
    const texts = (atOnce ? [pieces.join("")] : pieces).map((text) => ({ type: "text_delta", text }));
    if (texts.length > 0) block({ type: "text", text: "" }, texts);
    if (call) {
      const deltas = call.json.map((partial_json) => ({ type: "input_json_delta", partial_json }));
      block({ type: "tool_use", id: "toolu_1", name: call.name, input: {} }, deltas);
    }
    if (goesOn) return;
    const reason = call ? "tool_use" : stop === "length" ? "max_tokens" : "end_turn";
    event("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: output } });
    event("message_stop", {});
  };
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}
