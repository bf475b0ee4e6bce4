import type { Event, InputBlock, InputResult, LineLimits, ToolCallRequest } from "../wire/index.ts";
import type { Work } from "./answers.ts";
import type { Connection } from "./connection.ts";
import { lineBytes, newId } from "./outgoing.ts";
import { failedAnswer } from "./serve.ts";
import { isZod, jsonSchema, type Question, type Tool, type ToolCall } from "./tools.ts";

const MAX_PROGRESS = 16 * 1024;

/** One call of a tool, from its request to its result. */
export function callWork(connection: Connection, request: ToolCallRequest, key: string, tool: Tool): Work {
  return {
    key,
    run: async (signal) => {
      const content = await tool.run(request.input, new Call(connection, request.scope, key, signal));
      return fit(
        { event_type: "bb_tool_call_result", call_id: key, success: true, status: "ok", content },
        connection.limits,
      );
    },
    failed: (error) => failedAnswer(request, error),
  };
}

class Call implements ToolCall {
  readonly scope: string;
  readonly callId: string;
  readonly signal: AbortSignal;
  private readonly connection: Connection;

  constructor(connection: Connection, scope: string, callId: string, signal: AbortSignal) {
    this.connection = connection;
    this.scope = scope;
    this.callId = callId;
    this.signal = signal;
  }

  progress(text: string, fraction?: number): void {
    if (this.signal.aborted) return;
    const part = fraction === undefined || Number.isNaN(fraction) ? undefined : Math.min(1, Math.max(0, fraction));
    this.connection.send({
      event_type: "bb_tool_progress",
      call_id: this.callId,
      text: cut(text, MAX_PROGRESS),
      fraction: part,
    });
  }

  async ask({ prompt, schema, options }: Question): Promise<{ outcome: InputResult["outcome"]; value: unknown }> {
    const event = {
      event_type: "bb_input_request",
      id: newId("q"),
      call_id: this.callId,
      scope: this.scope,
      prompt,
      schema: schema && isZod(schema) ? jsonSchema(schema, "the question") : schema,
      options,
    };
    // How long a person may take is the Hub's to say.
    const answer = (await this.connection.request(event, { timeoutMs: Infinity, signal: this.signal })) as InputResult;
    return { outcome: answer.outcome, value: answer.value };
  }
}

/** A result over the line limit loses its end, with a note in its place: a dead line would tell the model nothing. */
function fit(result: Event & { content: InputBlock[] }, limits: LineLimits): Event {
  const whole = lineBytes(result);
  if (whole <= limits.line_bytes) return result;
  const note: InputBlock = {
    type: "text",
    text: `[cut: the whole result has ${whole} bytes, the limit is ${limits.line_bytes}]`,
  };
  const kept: InputBlock[] = [];
  const fits = (block: InputBlock) => lineBytes({ ...result, content: [...kept, block, note] }) <= limits.line_bytes;
  for (const block of result.content) {
    if (!fits(block)) {
      const text = block.type === "text" ? longest(String(block["text"]), limits.line_bytes, fits) : "";
      if (text !== "") kept.push({ type: "text", text });
      break;
    }
    kept.push(block);
  }
  return { ...result, content: [...kept, note] };
}

/** The longest beginning that fits, of at most `most` UTF-16 units. */
function longest(text: string, most: number, fits: (block: InputBlock) => boolean): string {
  let low = 0;
  let high = Math.min(text.length, most);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits({ type: "text", text: text.slice(0, middle) })) low = middle;
    else high = middle - 1;
  }
  return cut(text, low);
}

/** At most `length` UTF-16 units, never half a character. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}
