import { EventStreamCodec } from "@smithy/eventstream-codec";
import {
  json,
  NOTHING,
  WITH_KEY,
  type Counts,
  type Failure,
  type Format,
  type Part,
  type Step,
  type Turn,
} from "./script.ts";

const errors: Record<Failure, [status: number, exception: string]> = {
  unauthorized: [403, "UnrecognizedClientException"],
  unknown_model: [404, "ResourceNotFoundException"],
  rate: [429, "ThrottlingException"],
  credit: [402, "ServiceQuotaExceededException"],
  too_long: [400, "ValidationException"],
  invalid: [400, "ValidationException"],
  busy: [503, "ServiceUnavailableException"],
  broken: [500, "InternalServerException"],
};
const stops = { end_turn: "end_turn", tool_use: "tool_use", max_tokens: "max_tokens", refusal: "content_filtered" };

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8"),
);

/** One frame: length, headers and body, each with its checksum. */
export function frame(kind: "event" | "exception", type: string, body: object): Buffer {
  const text = (value: string) => ({ type: "string" as const, value });
  const headers = {
    [`:${kind}-type`]: text(type),
    ":content-type": text("application/json"),
    ":message-type": text(kind),
  };
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(body)) }));
}

function usage({ input = 0, output = 0, read, write }: Counts): object {
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + (read ?? 0) + (write ?? 0),
    ...(read === undefined ? {} : { cacheReadInputTokens: read }),
    ...(write === undefined ? {} : { cacheWriteInputTokens: write }),
  };
}

/** The blocks of one reply: one is open at a time, each with the next index. Text and thinking begin with their first delta. */
class Writer {
  readonly out: Buffer[] = [frame("event", "messageStart", { role: "assistant" })];
  private index = -1;
  private open: string | undefined;
  private counts: Counts | undefined;

  add(step: Step): void {
    if ("say" in step) {
      this.begin("text");
      this.delta({ text: step.say });
    } else if ("think" in step) {
      this.begin("thinking");
      if (step.think !== "") this.delta({ reasoningContent: { text: step.think } });
      if (step.signature === undefined) return;
      this.delta({ reasoningContent: { signature: step.signature } });
      this.close();
    } else if ("call" in step) {
      this.close();
      this.begin("call");
      this.put("contentBlockStart", { start: { toolUse: { toolUseId: step.id, name: step.call } } });
      for (const input of step.args) this.delta({ toolUse: { input } });
      this.close();
    } else if ("count" in step) this.counts = step.count;
    else if ("stop" in step) {
      this.close();
      this.out.push(frame("event", "messageStop", { stopReason: stops[step.stop] }));
      // What was counted comes last, after the stop reason.
      const metadata = { metrics: { latencyMs: 5 }, ...(this.counts ? { usage: usage(this.counts) } : {}) };
      this.out.push(frame("event", "metadata", metadata));
    } else {
      const [, name] = errors[step.fail];
      this.out.push(frame("exception", name.charAt(0).toLowerCase() + name.slice(1), { message: step.message }));
    }
  }

  private begin(type: string): void {
    if (this.open === type) return;
    this.close();
    this.open = type;
    this.index += 1;
  }

  private delta(delta: object): void {
    this.put("contentBlockDelta", { delta });
  }

  private close(): void {
    if (this.open !== undefined) this.put("contentBlockStop", {});
    this.open = undefined;
  }

  private put(type: string, body: object): void {
    // `p` pads each event, so that its length tells nothing of its text.
    this.out.push(frame("event", type, { contentBlockIndex: this.index, ...body, p: "abcdefgh" }));
  }
}

interface Block {
  text?: string;
  reasoningContent?: { reasoningText?: { text: string } };
  toolUse?: { toolUseId: string; name: string; input: unknown };
  toolResult?: { toolUseId: string; content: unknown };
  cachePoint?: object;
}

function toPart({ text, reasoningContent, toolUse, toolResult }: Block): Part {
  if (toolUse) return { call: toolUse.name, id: toolUse.toolUseId, input: toolUse.input };
  if (toolResult) return { result: JSON.stringify(toolResult.content), id: toolResult.toolUseId };
  if (reasoningContent) return { thinking: String(reasoningContent.reasoningText?.text) };
  return { text: String(text) };
}

function toTurns(body: Record<string, unknown>): Turn[] {
  return (body["messages"] as { role: string; content: Block[] }[]).map(({ role, content }) => ({
    role: role === "assistant" ? "model" : "user",
    parts: content.filter(({ cachePoint }) => !cachePoint).map(toPart),
  }));
}

/** Bedrock's converse-stream. */
export const converse: Format = {
  name: "Bedrock",
  contentType: "application/vnd.amazon.eventstream",
  keyHeader: "authorization",
  options: ({ origin }) => ({
    provider: "amazon-bedrock",
    model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    baseUrl: origin,
    settings: { region: "us-east-1" },
    ...WITH_KEY,
  }),
  events(...steps) {
    const writer = new Writer();
    for (const step of steps) writer.add(step);
    return writer.out;
  },
  // The end of the connection.
  end: NOTHING,
  refusal(failure, message) {
    const [status, exception] = errors[failure];
    return json(status, { message }, { "x-amzn-errortype": `${exception}:http://internal.amazon.com/coral/` });
  },
  toTurns,
};
