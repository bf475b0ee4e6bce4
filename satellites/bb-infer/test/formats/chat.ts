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

const errors: Record<Failure, [status: number, type: string, code: string | null]> = {
  unauthorized: [401, "invalid_request_error", "invalid_api_key"],
  unknown_model: [404, "invalid_request_error", "model_not_found"],
  rate: [429, "requests", "rate_limit_exceeded"],
  credit: [429, "insufficient_quota", "insufficient_quota"],
  too_long: [400, "invalid_request_error", "context_length_exceeded"],
  invalid: [400, "invalid_request_error", null],
  busy: [503, "server_error", null],
  broken: [500, "server_error", null],
};
const stops = { end_turn: "stop", tool_use: "tool_calls", max_tokens: "length", refusal: "content_filter" };

/** One chunk, as deviating servers write them too. */
export function chunk(delta: object | undefined, more: { finish_reason?: string; usage?: object } = {}): Buffer {
  const { finish_reason = null, ...rest } = more;
  const choices = delta ? [{ index: 0, delta, finish_reason }] : [];
  return event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "m",
    choices,
    ...rest,
  });
}

export function usage({ input, output, read }: Counts): object {
  const details = read === undefined ? {} : { prompt_tokens_details: { cached_tokens: read } };
  const asked = input === undefined ? {} : { prompt_tokens: input + (read ?? 0) };
  return { ...asked, ...(output === undefined ? {} : { completion_tokens: output }), ...details };
}

function events(...steps: Step[]): Buffer[] {
  let calls = 0;
  return [chunk({ role: "assistant", content: "" }), ...steps.flatMap((step) => toChunks(step, () => calls++))];
}

function toChunks(step: Step, next: () => number): Buffer[] {
  if ("say" in step) return [chunk({ content: step.say })];
  if ("think" in step) return [chunk({ reasoning_content: step.think })];
  if ("count" in step) return [chunk(undefined, { usage: usage(step.count) })];
  if ("stop" in step) return [chunk({}, { finish_reason: stops[step.stop] })];
  if ("fail" in step) {
    const [status, type, code] = errors[step.fail];
    return [event({ error: { message: step.message, type, param: null, code: code ?? status } })];
  }
  const index = next();
  const first = { index, id: step.id, type: "function", function: { name: step.call, arguments: "" } };
  return [
    chunk({ tool_calls: [first] }),
    ...step.args.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}

interface Sent {
  role: string;
  content?: string | { type: string; text: string }[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

function toParts({ role, content, tool_calls = [], tool_call_id }: Sent): Part[] {
  const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text }) => text);
  if (role === "tool") return [{ result: texts.join(""), id: String(tool_call_id) }];
  return [
    // The format has no other way to say that there is no text beside a call.
    ...texts.filter((text) => text !== "" || tool_calls.length === 0).map((text) => ({ text })),
    ...tool_calls.map((one) => ({
      call: one.function.name,
      id: one.id,
      input: JSON.parse(one.function.arguments) as unknown,
    })),
  ];
}

function toTurns(body: Record<string, unknown>): Turn[] {
  const turns: Turn[] = [];
  for (const message of body["messages"] as Sent[]) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "model" : "user";
    const last = turns.at(-1);
    // Results and what the person said are one turn in other formats, and several messages here.
    const more = last?.role === role && "result" in last.parts.at(-1)!;
    if (more) last.parts.push(...toParts(message));
    else turns.push({ role, parts: toParts(message) });
  }
  return turns;
}

const common = {
  contentType: "text/event-stream",
  keyHeader: "authorization",
  events,
  end: Buffer.from("data: [DONE]\n\n"),
  refusal(failure: Failure, message: string) {
    const [status, type, code] = errors[failure];
    return json(status, { error: { message, type, param: null, code } });
  },
  toTurns,
};

/** Chat completions as any server has them. */
export const compatible: Format = {
  ...common,
  name: "chat completions",
  options: ({ origin }) => ({ provider: "openai-compatible", model: "m", baseUrl: `${origin}/v1`, ...WITH_KEY }),
};

/** Chat completions of OpenAI's own package. */
export const chat: Format = {
  ...common,
  name: "OpenAI chat completions",
  options: ({ origin }) => ({
    provider: "openai",
    api: "chat",
    model: "gpt-4.1",
    baseUrl: `${origin}/v1`,
    ...WITH_KEY,
  }),
};
