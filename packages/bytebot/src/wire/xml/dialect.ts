import type { ModelTool } from "../events/turn.ts";
import type { CallReader, CallSink } from "./call.ts";
import type { Escapes } from "./escape.ts";
import type { ValueKind } from "./schema.ts";

export const dialectNames = ["invoke", "hermes", "qwen"] as const;
export type DialectName = (typeof dialectNames)[number];

/** How a parameter of a tool is read and written; it follows from the tool's schema. */
export type KindOf = (tool: string, key: string) => ValueKind;

/** A call's outcome, as text for the model. */
export interface ResultText {
  tool: string;
  text: string;
  isError: boolean;
}

/** One way to write tools, calls and results as text. It is read and written by nothing but itself. */
export interface Dialect {
  name: DialectName;
  escapes: Escapes;
  /** The tag that begins a call. */
  open: string;
  /** Tags that begin a call's inner part: outside of a call they begin a malformed one. */
  inner: readonly string[];
  /** Reads a call from behind `open`. */
  reader(kindOf: KindOf, sink: CallSink): CallReader;
  /** The tools, and how to call one. */
  tools(tools: readonly ModelTool[]): string;
  call(name: string, input: Record<string, unknown>, kindOf: KindOf): string;
  /** The results of the calls of one message, in their order. */
  results(results: readonly ResultText[]): string;
}

/** The same in each dialect. `tag` is an example of one, `after` says where results come. */
export function rules(escapes: Escapes, tag: string, after: string): string {
  return [
    `- One call an answer, at its end. Nothing may follow it: its result comes ${after} of the next message.`,
    "- What you think or explain comes before the call. A call within a code fence is only shown, not made.",
    `- To write one of these tags as text, put a backslash after its "<": ${escapes.escape(tag)}`,
  ].join("\n");
}

/** One tool a line. */
export function toolLines(tools: readonly ModelTool[], line: (tool: ModelTool) => unknown, escapes: Escapes): string {
  return tools.map((tool) => escapes.json(line(tool))).join("\n");
}

/** A tool as most models were taught it, to be written as JSON: a description that is undefined is left out. */
export function asFunction({ name, description, input_schema }: ModelTool): Record<string, unknown> {
  return { name, description, parameters: input_schema };
}
