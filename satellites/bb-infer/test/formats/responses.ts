import { compatible } from "./chat.ts";
import {
  event,
  NOTHING,
  WITH_KEY,
  type Counts,
  type Failure,
  type Format,
  type Part,
  type Step,
  type Stop,
  type Turn,
} from "./script.ts";

function usage({ input = 0, output = 0, read }: Counts): object {
  return {
    input_tokens: input + (read ?? 0),
    ...(read === undefined ? {} : { input_tokens_details: { cached_tokens: read } }),
    output_tokens: output,
    total_tokens: input + (read ?? 0) + output,
  };
}

const codes = { rate: "rate_limit_exceeded", credit: "insufficient_quota" } as Record<string, string | undefined>;

/** The items of one reply: one is open at a time, each with the next index. */
class Writer {
  readonly out: Buffer[] = [];
  private number = 0;
  private index = -1;
  private open: { type: string; text: string } | undefined;
  private counts: Counts | undefined;
  private readonly response = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: "m" };

  constructor() {
    this.put("response.created", { response: { ...this.response, status: "in_progress" } });
    this.put("response.in_progress", { response: { ...this.response, status: "in_progress" } });
  }

  add(step: Step): void {
    if ("say" in step) this.say(step.say);
    else if ("think" in step) this.think(step.think, step.signature);
    else if ("call" in step) this.call(step);
    else if ("count" in step) this.counts = step.count;
    else if ("stop" in step) this.stop(step.stop);
    else this.fail(step.fail, step.message);
  }

  /** An event of its own, in the shape that is documented or in the one that was sent; or a response that failed. */
  private fail(failure: Failure, message: string): void {
    const code = codes[failure];
    if (code === undefined) {
      const error = { code: "server_error", message };
      this.put("response.failed", { response: { ...this.response, status: "failed", error } });
    } else if (failure === "rate") this.put("error", { code, message, param: null });
    else this.put("error", { error: { type: code, code, message, param: null } });
  }

  private say(delta: string): void {
    this.begin("message", { id: this.id("msg", "message"), role: "assistant", status: "in_progress", content: [] });
    this.open!.text += delta;
    this.put("response.output_text.delta", { ...this.at(), content_index: 0, delta });
  }

  private think(delta: string, signature?: string): void {
    this.begin("reasoning", { id: this.id("rs", "reasoning"), summary: [] });
    if (this.open!.text === "") this.put("response.reasoning_summary_part.added", { ...this.at(), summary_index: 0 });
    this.open!.text += delta;
    this.put("response.reasoning_summary_text.delta", { ...this.at(), summary_index: 0, delta });
    if (signature === undefined) return;
    this.put("response.reasoning_summary_part.done", { ...this.at(), summary_index: 0 });
    this.close({ encrypted_content: signature });
  }

  private call({ call: name, id: call_id, args }: Extract<Step, { call: string }>): void {
    this.close();
    const item = { id: this.id("fc", "function_call"), call_id, name, arguments: "", status: "in_progress" };
    this.begin("function_call", item);
    for (const delta of args) this.put("response.function_call_arguments.delta", { ...this.at(), delta });
    const whole = args.join("");
    this.put("response.function_call_arguments.done", { ...this.at(), arguments: whole });
    this.close({ call_id, name, arguments: whole });
  }

  private stop(reason: Stop): void {
    this.close();
    const why = { max_tokens: "max_output_tokens", refusal: "content_filter" }[reason as string];
    const type = why ? "response.incomplete" : "response.completed";
    const details = { incomplete_details: why ? { reason: why } : null };
    const status = why ? "incomplete" : "completed";
    this.put(type, {
      response: { ...this.response, status, ...details, usage: this.counts ? usage(this.counts) : null },
    });
  }

  private begin(type: string, item: object): void {
    if (this.open?.type === type) return;
    this.close();
    this.index += 1;
    this.open = { type, text: "" };
    this.put("response.output_item.added", { output_index: this.index, item: { type, ...item } });
  }

  private close(more: object = {}): void {
    const { open } = this;
    if (!open) return;
    const item = { type: open.type, id: this.at().item_id, status: "completed", ...more };
    this.put("response.output_item.done", { output_index: this.index, item });
    this.open = undefined;
  }

  /** An id for the open item of this type, or for the next one. */
  private id(prefix: string, type: string): string {
    return `${prefix}_${this.open?.type === type ? this.index : this.index + 1}`;
  }

  private at(): { item_id: string; output_index: number } {
    const prefix = { message: "msg", reasoning: "rs", function_call: "fc" }[this.open!.type] ?? "item";
    return { item_id: `${prefix}_${this.index}`, output_index: this.index };
  }

  private put(type: string, data: object): void {
    this.out.push(event({ type, sequence_number: this.number++, ...data }, type));
  }
}

interface Item {
  type?: string;
  role?: string;
  content?: { text: string }[] | string;
  summary?: { text: string }[];
  call_id?: string;
  name?: string;
  arguments?: string;
  output?: unknown;
}

function toParts(item: Item): Part[] {
  if (item.type === "function_call")
    return [
      { call: String(item.name), id: String(item.call_id), input: JSON.parse(String(item.arguments)) as unknown },
    ];
  if (item.type === "function_call_output") return [{ result: JSON.stringify(item.output), id: String(item.call_id) }];
  if (item.type === "reasoning") return [{ thinking: (item.summary ?? []).map(({ text }) => text).join("") }];
  return typeof item.content === "string"
    ? [{ text: item.content }]
    : (item.content ?? []).map(({ text }) => ({ text }));
}

/** Items of one side become one turn, but for two messages of a person: those the format would let stand apart. */
function toTurns(body: Record<string, unknown>): Turn[] {
  const turns: Turn[] = [];
  for (const item of body["input"] as Item[]) {
    if (item.role === "system" || item.role === "developer") continue;
    const model = item.role === "assistant" || item.type === "function_call" || item.type === "reasoning";
    const role = model ? "model" : "user";
    const last = turns.at(-1);
    if (last?.role === role && (model || "result" in last.parts.at(-1)!)) last.parts.push(...toParts(item));
    else turns.push({ role, parts: toParts(item) });
  }
  return turns;
}

/** OpenAI's Responses. */
export const responses: Format = {
  name: "OpenAI responses",
  contentType: "text/event-stream; charset=utf-8",
  keyHeader: "authorization",
  options: ({ origin }) => ({ provider: "openai", model: "gpt-5-mini", baseUrl: `${origin}/v1`, ...WITH_KEY }),
  events(...steps) {
    const writer = new Writer();
    for (const step of steps) writer.add(step);
    return writer.out;
  },
  // Its last event says that the response is complete.
  end: NOTHING,
  refusal: (failure, message) => compatible.refusal(failure, message),
  toTurns,
};
