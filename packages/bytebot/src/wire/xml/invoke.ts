import { asFunction, rules, toolLines, type Dialect } from "./dialect.ts";
import { Escapes } from "./escape.ts";
import { opening, resultText, writeParameters } from "./parameters.ts";
import { TaggedReader, type TaggedForm } from "./tagged.ts";

const escapes = new Escapes([
  "function_calls",
  "function_results",
  "functions",
  "invoke",
  "parameter",
  "result",
  "think",
]);

const form: TaggedForm = {
  call: '<invoke name="',
  parameter: '<parameter name="',
  parameterEnd: "</parameter>",
  callEnd: "</invoke>",
  end: "</function_calls>",
  framed: false,
  escapes,
};

const FORMAT = `<function_calls>
<invoke name="FUNCTION">
<parameter name="PARAMETER">VALUE</parameter>
</invoke>
</function_calls>`;

/** `<function_calls><invoke name="…"><parameter name="…">value</parameter></invoke></function_calls>` */
export const invoke: Dialect = {
  name: "invoke",
  escapes,
  open: "<function_calls>",
  inner: [form.call],
  reader: (kindOf, sink) => new TaggedReader(form, kindOf, sink),
  tools: (tools) =>
    [
      "You can call these functions, each described by a line of JSON:",
      `<functions>\n${toolLines(tools, asFunction, escapes)}\n</functions>`,
      `To call one, write exactly this, with a parameter tag for each parameter:\n${FORMAT}`,
      `- A text is written as it is, without quotes; any other value is written as JSON.\n${rules(escapes, "<invoke>", "in the <function_results>")}`,
    ].join("\n\n"),
  call: (name, input, kindOf) =>
    `<function_calls>\n${opening(form.call, name)}\n${writeParameters(form, name, input, kindOf)}</invoke>\n</function_calls>`,
  results: (results) => {
    const each = results.map(({ tool, text, isError }) => {
      const begin = opening('<result name="', tool).replace(/>$/, isError ? ' error="true">' : ">");
      return `${begin}\n${resultText(escapes, text)}</result>\n`;
    });
    return `<function_results>\n${each.join("")}</function_results>`;
  },
};
