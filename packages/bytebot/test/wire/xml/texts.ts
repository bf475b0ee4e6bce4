import fc from "fast-check";
import { dialects, XmlParser, type Dialect, type ModelTool, type XmlEvent } from "../../../src/wire/index.ts";

/** What a dialect's text is made of, and what comes near it. */
export const pieces = [
  "<", ">", "/", "\\", '"', "`", "```", "~~~", "\n", " ", "\t", "\r\n", "a", "{", "}", ":", ",", "[", "]", "=", "&lt;", "&",
  "<function_calls>", "</function_calls>", "<function_results>", '<invoke name="', '">', "</invoke>", '<parameter name="',
  "</parameter>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<function=", "</function>",
  "<parameter=", "<think>", "</think>", "<tools>", "</tools>", "<\\tool_call>", "<\\\\/parameter>", '{"name":"write","arguments":{',
  '"name"', '"arguments"', "write", "path", "😀", "\u2028", "\0", "null", "1", "</tool_", "<func", "_calls>",
]; // prettier-ignore

/** Text full of tags, halves of tags, fences and escapes. */
export const hostileText = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...pieces) },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 5 }) },
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

export const everyDialect = fc.constantFrom(...Object.values(dialects));

export const writeTool: ModelTool = {
  name: "write",
  description: "Writes </tools><tool_call> a file.",
  input_schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      lines: { type: "integer" },
      mode: { enum: ["a", "b", "7"] },
      note: { anyOf: [{ type: "string" }, { type: "null" }] },
      deep: { type: "array", items: {} },
      any: {},
      ref: { $ref: "#/$defs/Name" },
    },
    $defs: { Name: { type: "string" } },
  },
};
export const tools: ModelTool[] = [writeTool, { name: "now", input_schema: { type: "object" } }];

export interface Read {
  text: string;
  name?: string;
  json: string;
  end?: "complete" | { reason: string; written: string };
}

/** An answer's text, read in these pieces, with what came in pieces joined. */
export function readIn(dialect: Dialect, chunks: Iterable<string>, offered: readonly ModelTool[] = tools): Read {
  const parser = new XmlParser(dialect, offered);
  const read: Read = { text: "", json: "" };
  const take = (events: XmlEvent[]): void => {
    for (const event of events) {
      if (event.type === "text") read.text += event.text;
      else if (event.type === "call") read.name = event.name;
      else if (event.type === "arguments") read.json += event.json;
      else if (event.type === "complete") read.end = "complete";
      else read.end = { reason: event.reason, written: event.written };
    }
  };
  for (const chunk of chunks) take(parser.push(chunk));
  take(parser.end());
  return read;
}

export const readWhole = (dialect: Dialect, text: string): Read => readIn(dialect, [text]);

/** The text cut at these places. */
export function cutAt(text: string, places: readonly number[]): string[] {
  const at = [0, ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}
