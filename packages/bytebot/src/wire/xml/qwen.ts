import { asFunction, rules, toolLines, type Dialect } from "./dialect.ts";
import { Escapes } from "./escape.ts";
import { opening, resultText, writeParameters } from "./parameters.ts";
import { TaggedReader, type TaggedForm } from "./tagged.ts";

const escapes = new Escapes(["tool_call", "tool_response", "tools", "function", "parameter", "think"]);

const form: TaggedForm = {
  call: "<function=",
  parameter: "<parameter=",
  parameterEnd: "</parameter>",
  callEnd: "</function>",
  end: "</tool_call>",
  framed: true,
  escapes,
};

const FORMAT = `<tool_call>
<function=FUNCTION>
<parameter=PARAMETER>
VALUE
</parameter>
</function>
</tool_call>`;

/** `<tool_call><function=…><parameter=…>` line `</parameter></function></tool_call>`: the form of Qwen3-Coder. */
export const qwen: Dialect = {
  name: "qwen",
  escapes,
  open: "<tool_call>",
  inner: [form.call],
  reader: (kindOf, sink) => new TaggedReader(form, kindOf, sink),
  tools: (tools) =>
    [
      "You can call these functions, each described by a line of JSON:",
      `<tools>\n${toolLines(tools, (tool) => ({ type: "function", function: asFunction(tool) }), escapes)}\n</tools>`,
      `To call one, write exactly this, with a parameter tag for each parameter:\n${FORMAT}`,
      `- A text is written as it is, without quotes; any other value is written as JSON.\n${rules(escapes, "<function=x>", "in the <tool_response>")}`,
    ].join("\n\n"),
  call: (name, input, kindOf) =>
    `<tool_call>\n${opening(form.call, name)}\n${writeParameters(form, name, input, kindOf)}</function>\n</tool_call>`,
  results: (results) =>
    results
      .map(({ text, isError }) => {
        const said = resultText(escapes, text);
        return `<tool_response>\n${isError ? "Error:\n" : ""}${said}</tool_response>`;
      })
      .join("\n"),
};
