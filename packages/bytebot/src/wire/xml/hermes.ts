import { asFunction, rules, toolLines, type Dialect } from "./dialect.ts";
import { Escapes } from "./escape.ts";
import { ObjectReader } from "./object.ts";

const escapes = new Escapes(["tool_call", "tool_response", "tools", "think"]);

/** `<tool_call>{"name":…,"arguments":{…}}</tool_call>`: the form of the Hermes models, Qwen 2.5 and Qwen 3. */
export const hermes: Dialect = {
  name: "hermes",
  escapes,
  open: "<tool_call>",
  inner: [],
  reader: (_kindOf, sink) => new ObjectReader("</tool_call>", sink),
  tools: (tools) =>
    [
      "You can call these functions, each described by a line of JSON:",
      `<tools>\n${toolLines(tools, (tool) => ({ type: "function", function: asFunction(tool) }), escapes)}\n</tools>`,
      'To call one, write a JSON object with its name and its arguments, exactly so:\n<tool_call>\n{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}\n</tool_call>',
      rules(escapes, "<tool_call>", "in the <tool_response>"),
    ].join("\n\n"),
  call: (name, input) => `<tool_call>\n${escapes.json({ name, arguments: input })}\n</tool_call>`,
  results: (results) =>
    results
      .map(({ tool, text, isError }) => {
        const said = { name: tool, content: text, ...(isError ? { error: true } : {}) };
        return `<tool_response>\n${escapes.json(said)}\n</tool_response>`;
      })
      .join("\n"),
};
