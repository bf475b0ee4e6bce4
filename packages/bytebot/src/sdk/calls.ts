import { BytebotError, bytesOf, encodeSegment, INLINE_BYTES, RESULT_BYTES, shorten, sizeOf } from "../wire/index.ts";
import type { InputBlock, Keep, RawBlock, ToolCallRequest, TurnResult } from "../wire/index.ts";
import type { Stop, Work } from "./answers.ts";
import type { Connection } from "./connection.ts";
import { newId } from "./outgoing.ts";
import { inCall, pose } from "./questions.ts";
import { failedAnswer } from "./serve.ts";
import type { Answer, ChildTurn, Question, Tool, ToolCall, TurnOptions } from "./tools.ts";

const MAX_PROGRESS = 16 * 1024;
/** What a result holds beside its content, in bytes. */
const ENVELOPE = 2048;

/** One call of a tool, from its request to its result. */
export function callWork(connection: Connection, request: ToolCallRequest, key: string, tool: Tool): Work {
  return {
    key,
    run: async (stop) => {
      const call = new Call(connection, request.scope, key, stop);
      const output = await inCall(connection, call, () => tool.run(request.input, call));
      const content = await fit(output, connection, request.scope, stop);
      return { event_type: "bb_tool_call_result", call_id: key, success: true, status: "ok", content };
    },
    failed: (error) => failedAnswer(request, error),
  };
}

const NO_REASON = { code: "internal", message: "the turn failed without a reason", retryable: false };

class Call implements ToolCall {
  readonly scope: string;
  readonly callId: string;
  private readonly connection: Connection;
  private readonly stop: Stop;

  constructor(connection: Connection, scope: string, callId: string, stop: Stop) {
    this.connection = connection;
    this.scope = scope;
    this.callId = callId;
    this.stop = stop;
  }

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  progress(text: string, fraction?: number): void {
    if (this.stop.reason) return;
    const part = fraction === undefined || Number.isNaN(fraction) ? undefined : Math.min(1, Math.max(0, fraction));
    this.connection.send({
      event_type: "bb_tool_progress",
      call_id: this.callId,
      text: cut(text, MAX_PROGRESS),
      fraction: part,
    });
  }

  async ask(question: Question): Promise<Answer> {
    return pose(this.connection, { call_id: this.callId, scope: this.scope }, question, this.signal);
  }

  async turn(content: string | InputBlock[], { name, budget }: TurnOptions = {}): Promise<ChildTurn> {
    const scope = `${this.scope}/~${encodeSegment(name ?? newId("a"))}`;
    const event = { event_type: "bb_turn_request", id: newId("t"), call_id: this.callId, scope, content, budget };
    // How long it may take is the call's deadline.
    const request = this.connection.request(event, { timeoutMs: Infinity, signal: this.signal });
    const { success, content: said = [], error } = (await request) as TurnResult;
    if (!success) {
      const { code, message, retryable } = BytebotError.fromWire(error ?? NO_REASON);
      throw new BytebotError(code, message, { retryable, data: { content: said } });
    }
    const text = said.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
    return { scope, content: said, text };
  }
}

/** A result that would not fit its line, or whose media travel apart: what is too large goes ahead as blobs (rule TOL-10). */
async function fit(content: RawBlock[], connection: Connection, scope: string, stop: Stop): Promise<InputBlock[]> {
  const { line_bytes } = connection.limits;
  const keep: Keep = async ({ size, mimeType, pieces }) => {
    const kept = await connection.blobs.put(scope, each(pieces), { size, mimeType, signal: stop.signal });
    if (stop.reason) throw stop.reason;
    return kept;
  };
  const blocks = isTooLarge(content, line_bytes) ? await shorten(content, RESULT_BYTES, keep) : content;
  if (stop.reason) throw stop.reason;
  return blocks.map((block): InputBlock => {
    const { data } = block as { data?: unknown };
    if (!(data instanceof Uint8Array)) return block as InputBlock;
    return { ...block, data: Buffer.from(data).toString("base64") } as InputBlock;
  });
}

function isTooLarge(content: RawBlock[], lineBytes: number): boolean {
  if (
    content.some(({ type, data }: { type: string; data?: unknown }) => type !== "text" && bytesOf(data) > INLINE_BYTES)
  )
    return true;
  // A character may take six bytes on the wire, as an escape: few results need the exact count.
  const size = sizeOf(content);
  if (size > lineBytes) return true;
  if (size * 6 <= lineBytes - ENVELOPE) return false;
  const plain = content.map((block) => ({ ...block, data: undefined }));
  return lineBytes - ENVELOPE < Buffer.byteLength(JSON.stringify(plain)) + size - sizeOf(plain as RawBlock[]);
}

async function* each(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** At most `length` UTF-16 units, never half a character. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}
