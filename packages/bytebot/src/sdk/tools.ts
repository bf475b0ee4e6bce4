import { z } from "zod";
import {
  BytebotError,
  InputBlock,
  type Block,
  type InputResult,
  type RawBlock,
  type ToolDefinition,
  type TurnBudget,
} from "../wire/index.ts";

/** What `run` is given beside its input. */
export interface ToolCall {
  readonly scope: string;
  readonly callId: string;
  /** Aborts when the call is cancelled or the connection closes. */
  readonly signal: AbortSignal;
  /** Shown to people; `fraction` from 0 to 1. */
  progress(text: string, fraction?: number): void;
  /** Asks the person; the call's own deadline stands still meanwhile. Rejects when the call is cancelled. */
  ask(question: Question): Promise<Answer>;
  /**
   * A turn of a child conversation: a sub-agent, which ends with this call at the latest. Rejects with the error it ended
   * with, `budget_exceeded` where its budget is used up; `data.content` is what it had said by then.
   */
  turn(content: string | InputBlock[], options?: TurnOptions): Promise<ChildTurn>;
}

export interface TurnOptions {
  /** Names the child conversation below the call's; the same name again goes on in it. Default: a new one. */
  name?: string | undefined;
  /** Tokens of all sorts, tool calls, and rounds that it may use. */
  budget?: TurnBudget | undefined;
}

export interface ChildTurn {
  /** Where it was. */
  scope: string;
  /** What the model said last; `text`: its texts, joined. */
  content: Block[];
  text: string;
}

export interface Question {
  prompt: string;
  /** Of the value: zod, or JSON Schema. */
  schema?: z.core.$ZodType | Record<string, unknown> | undefined;
  options?: string[] | undefined;
}

/** `value` only where it was accepted. */
export interface Answer {
  outcome: InputResult["outcome"];
  value: unknown;
}

/**
 * A string is text, bytes are a file, blocks are themselves (an image's `data` may be bytes, or base64), any other value
 * becomes JSON text, undefined no content. However much it is: what is too large for a result is kept as blobs, and the
 * model sees the beginning of a text.
 */
export type ToolOutput = string | Uint8Array | RawBlock[] | object | number | boolean | null | undefined | void;

/** Made by `defineTool`. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Throws BytebotError `invalid_params`, in words for the model, where the input is not of its schema. */
  run(input: unknown, call: ToolCall): Promise<RawBlock[]>;
}

interface Described {
  name: string;
  description?: string | undefined;
  /** Absent means false: nothing is assumed harmless. */
  annotations?: { read_only?: boolean; destructive?: boolean; idempotent?: boolean } | undefined;
  /** After which the Hub ends a call, in milliseconds. */
  timeoutMs?: number | undefined;
}

/**
 * A tool, its input described by zod (then parsed before `run`) or by JSON Schema 2020-12 (then checked by the Hub).
 * Throws BytebotError `invalid_params` where the schema describes no JSON object.
 */
export function defineTool<Schema extends z.core.$ZodType>(
  definition: Described & {
    input: Schema;
    run: (input: z.output<Schema>, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
  },
): Tool;
export function defineTool(
  definition: Described & {
    inputSchema: Record<string, unknown>;
    run: (input: Record<string, unknown>, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
  },
): Tool;
export function defineTool(
  definition: Described & {
    input?: z.core.$ZodType;
    inputSchema?: Record<string, unknown>;
    // Each overload types the input its own way.
    run: (input: never, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
  },
): Tool {
  const { name, description, input, inputSchema, annotations, timeoutMs, run } = definition;
  const schema = input ? jsonSchema(input, `tool "${name}"`) : inputSchema;
  if (schema?.["type"] !== "object") {
    throw new BytebotError(
      "invalid_params",
      `tool "${name}": its input has to be an object, such as input: z.object({})`,
    );
  }
  return {
    definition: { name, description, input_schema: schema, annotations, timeout_ms: timeoutMs },
    run: async (value, call) => toBlocks(await run((input ? await parse(input, value) : value) as never, call)),
  };
}

/** JSON Schema 2020-12 of what a caller writes: a field with a default is optional. */
export function jsonSchema(schema: z.core.$ZodType, where: string): Record<string, unknown> {
  if (!isZod(schema))
    throw new BytebotError(
      "invalid_params",
      `${where}: its schema is not of zod 4: import { z } from "zod", version 4`,
    );
  try {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
    return rest;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BytebotError("invalid_params", `${where}: its schema cannot be written as JSON Schema: ${why}`, {
      cause,
    });
  }
}

export function isZod(schema: object): schema is z.core.$ZodType {
  return "_zod" in schema;
}

async function parse(schema: z.core.$ZodType, value: unknown): Promise<unknown> {
  const result = await z.safeParseAsync(schema, value);
  if (result.success) return result.data;
  throw new BytebotError("invalid_params", `the arguments are not valid:\n${z.prettifyError(result.error)}`);
}

function toBlocks(output: ToolOutput): RawBlock[] {
  if (output === undefined || output === "") return [];
  if (typeof output === "string") return [{ type: "text", text: output }];
  if (output instanceof Uint8Array) return [{ type: "file", mime_type: "application/octet-stream", data: output }];
  if (Array.isArray(output) && output.length > 0 && output.every(isBlock)) return output as RawBlock[];
  const text = JSON.stringify(output) as string | undefined; // undefined for a function
  return text === undefined ? [] : [{ type: "text", text }];
}

function isBlock(item: unknown): boolean {
  const bytes = typeof item === "object" && item !== null && "data" in item && item.data instanceof Uint8Array;
  return InputBlock.safeParse(bytes ? { ...item, data: "" } : item).success;
}
