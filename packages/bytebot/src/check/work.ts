import { randomUUID } from "node:crypto";
import { schemaCheck } from "../hub/tools/schema.ts";
import {
  toOpenai,
  type Block,
  type Event,
  type Kind,
  type Message,
  type ModelTool,
  type ToolDefinition,
} from "../wire/index.ts";
import { Inapplicable } from "./check.ts";
import { instanceOf } from "./instance.ts";

/** A request, and how its answer is known. */
export interface Work {
  /** The request's `id`, or the `call_id`. */
  key: string;
  event: Event;
  expected: string;
  answers: (event: Event) => boolean;
}

/** What a check wants in a request; the rest is made up. */
export interface Say {
  scope?: string;
  /** What the person said. */
  text?: string;
  /** The whole conversation, in place of `text`. */
  messages?: readonly Message[];
  tools?: readonly ModelTool[];
  /** Of a toolsource: another call than the one that may be made. */
  call?: { name: string; input: unknown };
  extra?: Record<string, unknown>;
  /** The shape of messages that it announced (rule CNV-1). */
  shape?: unknown;
}

export interface Callable {
  tools: readonly ToolDefinition[];
  call: { name: string; input: unknown } | undefined;
  ms: number;
}

/** Two tools for a model: they are only offered, and never run. */
export const offered: readonly ModelTool[] = [
  {
    name: "check_note",
    description: "Writes a note down.",
    input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  { name: "check_time", description: "Tells the time.", input_schema: { type: "object", properties: {} } },
];

export const NO_SUCH_TOOL = "bytebot-check-no-such-tool";

export function toWork(kind: Kind, say: Say & { scope: string }, callable: Callable): Work {
  switch (kind) {
    case "context":
      return render(say);
    case "infer":
      return inference(say);
    case "toolsource":
      return call(say, callable);
    case "ui":
    case "telemetry":
      throw new Inapplicable(`a ${kind} answers no requests`);
  }
}

function render({ scope, extra, ...say }: Say & { scope: string }): Work {
  const key = newId("r");
  const event = {
    event_type: "bb_context_render_request",
    id: key,
    scope,
    loop_id: newId("l"),
    round: 0,
    infer: { name: "check", capabilities: { api_shape: "anthropic" } },
    ...shaped("history", conversation(say), say.tools ?? offered, say.shape),
    history_whole: true,
    ts: Date.now(),
    ...extra,
  };
  return { key, event, ...answered("bb_context_render_result", "in_reply_to", key) };
}

function inference({ scope, extra, ...say }: Say & { scope: string }): Work {
  const key = newId("i");
  const { tools, ...messages } = shaped("messages", conversation(say), say.tools ?? [], say.shape);
  const event = {
    event_type: "bb_infer_request",
    id: key,
    loop_id: newId("l"),
    scope,
    stream: true,
    round: 0,
    attempt: 0,
    ...messages,
    ...(tools.length === 0 ? {} : { tools }),
    params: { max_tokens: 64 },
    seq: 512,
    cursor: "check:2.0",
    ts: Date.now(),
    ...extra,
  };
  return { key, event, ...answered("bb_infer_result", "in_reply_to", key) };
}

function call({ scope, extra, ...say }: Say & { scope: string }, callable: Callable): Work {
  const key = newId("c");
  const { name, input } = say.call ?? permitted(callable) ?? { name: NO_SUCH_TOOL, input: {} };
  const event = {
    event_type: "bb_tool_call_request",
    call_id: key,
    name,
    input: structuredClone(input),
    scope,
    loop_id: newId("l"),
    deadline_ts: Date.now() + callable.ms,
    seq: 1024,
    cursor: "check:4.0",
    ts: Date.now(),
    ...extra,
  };
  return { key, event, ...answered("bb_tool_call_result", "call_id", key) };
}

/** The call the person named; else the first tool that says it only reads, with the least arguments its schema takes. */
export function permitted({ tools, call: named }: Callable): { name: string; input: unknown } | undefined {
  if (named) return named;
  for (const { name, input_schema, annotations } of tools) {
    if (annotations?.read_only !== true || annotations.destructive === true) continue;
    try {
      const input = instanceOf(input_schema);
      if (schemaCheck(input_schema, name)(input) === undefined) return { name, input };
    } catch {
      // A schema that cannot be used is another check's finding; no call can be made up for it.
    }
  }
  return undefined;
}

/** The conversation and the tools, in the shape that this component takes. */
function shaped(name: "history" | "messages", said: Message[], offer: readonly ModelTool[], shape: unknown) {
  const own = structuredClone(offer) as ModelTool[];
  if (shape !== "openai") return { tools: own, [name]: said };
  const { messages, tools } = toOpenai({ messages: said, tools: own });
  return { api_shape: "openai", tools: tools ?? [], [name]: messages };
}

/** Of a tool as a name, or in either shape. */
export function nameOf(tool: unknown): string {
  const { name, function: inner } = (typeof tool === "object" ? (tool ?? {}) : { name: tool }) as {
    name?: unknown;
    function?: { name?: unknown };
  };
  return String(name ?? inner?.name);
}

function answered(type: string, field: "in_reply_to" | "call_id", key: string): Pick<Work, "expected" | "answers"> {
  return {
    expected: `${type} with "${field}":"${key}"`,
    answers: (event) => event.event_type === type && event[field] === key,
  };
}

function conversation({ text = "Answer with one word: ready.", messages }: Say): Message[] {
  const said: Block[] = [{ type: "text", text }];
  return messages ? structuredClone(messages as Message[]) : [{ role: "user", content: said }];
}

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
