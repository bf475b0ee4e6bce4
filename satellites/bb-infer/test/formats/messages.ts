import {
  event,
  json,
  WITH_KEY,
  type Counts,
  type Failure,
  type Format,
  type Part,
  type Step,
  type Turn,
} from "./script.ts";

const errors: Record<Failure, [status: number, type: string]> = {
  unauthorized: [401, "authentication_error"],
  unknown_model: [404, "not_found_error"],
  rate: [429, "rate_limit_error"],
  credit: [402, "billing_error"],
  too_long: [413, "request_too_large"],
  invalid: [400, "invalid_request_error"],
  busy: [529, "overloaded_error"],
  broken: [500, "api_error"],
};

const named = (data: { type: string } & Record<string, unknown>) => event(data, data.type);

function usage({ input = 0, output = 0, read, write }: Counts): object {
  return {
    input_tokens: input,
    output_tokens: output,
    ...(write === undefined ? {} : { cache_creation_input_tokens: write }),
    ...(read === undefined ? {} : { cache_read_input_tokens: read }),
  };
}

/** The blocks of one reply: one is open at a time, each with the next index. */
class Writer {
  readonly out: Buffer[] = [];
  private index = -1;
  private open: string | undefined;
  private counts: Counts = { input: 0, output: 0 };

  constructor(first: Step | undefined) {
    if (first && "count" in first) this.counts = first.count;
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
    this.put({ type: "message_start", message: { ...message, usage: usage(this.counts) } }, { type: "ping" });
  }

  add(step: Step): void {
    if ("say" in step) {
      this.begin({ type: "text", text: "" });
      this.delta({ type: "text_delta", text: step.say });
    } else if ("think" in step) {
      this.begin({ type: "thinking", thinking: "", signature: "" });
      if (step.think !== "") this.delta({ type: "thinking_delta", thinking: step.think });
      if (step.signature === undefined) return;
      this.delta({ type: "signature_delta", signature: step.signature });
      this.close();
    } else if ("call" in step) {
      this.close();
      this.begin({ type: "tool_use", id: step.id, name: step.call, input: {} });
      for (const partial_json of step.args) this.delta({ type: "input_json_delta", partial_json });
      this.close();
    } else if ("count" in step) this.counts = step.count;
    else if ("stop" in step) {
      this.close();
      const delta = { stop_reason: step.stop, stop_sequence: null };
      this.put({ type: "message_delta", delta, usage: usage(this.counts) });
    } else this.put({ type: "error", error: { type: errors[step.fail][1], message: step.message } });
  }

  private begin(content_block: { type: string } & Record<string, unknown>): void {
    if (this.open === content_block.type) return;
    this.close();
    this.open = content_block.type;
    this.index += 1;
    this.put({ type: "content_block_start", index: this.index, content_block });
  }

  private delta(delta: object): void {
    this.put({ type: "content_block_delta", index: this.index, delta });
  }

  private close(): void {
    if (this.open !== undefined) this.put({ type: "content_block_stop", index: this.index });
    this.open = undefined;
  }

  private put(...events: ({ type: string } & Record<string, unknown>)[]): void {
    this.out.push(...events.map(named));
  }
}

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
}

function toPart(block: Block): Part {
  if (block.type === "tool_use") return { call: String(block.name), id: String(block.id), input: block.input };
  if (block.type === "tool_result") return { result: JSON.stringify(block.content), id: String(block.tool_use_id) };
  if (block.type === "thinking") return { thinking: String(block.thinking) };
  return { text: String(block.text) };
}

function toTurns(body: Record<string, unknown>): Turn[] {
  return (body["messages"] as { role: string; content: Block[] }[]).map(({ role, content }) => ({
    role: role === "assistant" ? "model" : "user",
    parts: content.map(toPart),
  }));
}

/** Anthropic's Messages. */
export const messages: Format = {
  name: "Anthropic messages",
  contentType: "text/event-stream; charset=utf-8",
  keyHeader: "x-api-key",
  options: ({ origin }) => ({
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    baseUrl: `${origin}/v1`,
    ...WITH_KEY,
  }),
  events(...steps) {
    const writer = new Writer(steps[0]);
    for (const step of steps) writer.add(step);
    return writer.out;
  },
  end: named({ type: "message_stop" }),
  refusal(failure, message) {
    const [status, type] = errors[failure];
    return json(status, { type: "error", error: { type, message }, request_id: "req_1" });
  },
  toTurns,
};
