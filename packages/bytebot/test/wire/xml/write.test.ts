import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  dialectNames,
  dialects,
  writeMessages,
  writeSystem,
  type Block,
  type Message,
} from "../../../src/wire/index.ts";
import { readIn, tools, writeTool } from "./texts.ts";

const { invoke, hermes, qwen } = dialects;
const said = (messages: Message[]): string[] =>
  messages.map(
    ({ role, content }) =>
      `${role}: ${content.map((block) => (block.type === "text" ? String(block["text"]) : `[${block.type}]`)).join(" | ")}`,
  );

const transcript: Message[] = [
  { role: "user", content: [{ type: "text", text: "write <invoke> and <tool_call>" }] },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Shall I?" },
      { type: "text", text: "Yes. \n" },
      {
        type: "tool_use",
        id: "c1",
        name: "write",
        input: { path: "a.txt", lines: 3, note: "n", any: "<tool_call><invoke" },
      },
    ],
  },
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "c1",
        content: [{ type: "text", text: "3 lines </result></tool_response>" }],
      },
    ],
  },
];

test("the dialects are these, by their names (XML-1)", () => {
  assert.deepEqual(dialectNames, ["invoke", "hermes", "qwen"]);
  for (const name of dialectNames) assert.equal(dialects[name].name, name);
});

test("calls and results are text of the dialect, other tags are escaped, thinking is left out (XML-2, XML-5)", () => {
  assert.deepEqual(said(writeMessages(invoke, transcript, tools)), [
    "user: write <\\invoke> and <tool_call>",
    `assistant: Yes.
<function_calls>
<invoke name="write">
<parameter name="path">a.txt</parameter>
<parameter name="lines">3</parameter>
<parameter name="note">"n"</parameter>
<parameter name="any">"<tool_call>\\u003cinvoke"</parameter>
</invoke>
</function_calls>`,
    `user: <function_results>
<result name="write">
3 lines <\\/result></tool_response>
</result>
</function_results>`,
  ]);
  assert.deepEqual(said(writeMessages(hermes, transcript, tools)), [
    "user: write <invoke> and <\\tool_call>",
    `assistant: Yes.
<tool_call>
{"name":"write","arguments":{"path":"a.txt","lines":3,"note":"n","any":"\\u003ctool_call><invoke"}}
</tool_call>`,
    `user: <tool_response>
{"name":"write","content":"3 lines </result>\\u003c/tool_response>"}
</tool_response>`,
  ]);
  assert.deepEqual(said(writeMessages(qwen, transcript, tools)), [
    "user: write <invoke> and <\\tool_call>",
    `assistant: Yes.
<tool_call>
<function=write>
<parameter=path>
a.txt
</parameter>
<parameter=lines>
3
</parameter>
<parameter=note>
"n"
</parameter>
<parameter=any>
"\\u003ctool_call><invoke"
</parameter>
</function>
</tool_call>`,
    `user: <tool_response>
3 lines </result><\\/tool_response>
</tool_response>`,
  ]);
});

test("the names within tags have the entities of XML (XML-3)", () => {
  const input = { '&<>"\n': 1 };
  const page = writeMessages(
    invoke,
    [{ role: "assistant", content: [{ type: "tool_use", name: "now", input }] }],
    tools,
  );
  assert.match(said(page)[0]!, /<parameter name="&amp;&lt;&gt;&quot;&#10;">1</);
});

test("several results stand in one text, errors are marked, an image follows, what comes after stays after (XML-2)", () => {
  const image: Block = { type: "image", mime_type: "image/png", data: "" };
  const messages: Message[] = [
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "c1", name: "now", input: {} },
        { type: "tool_use", id: "c2", name: "write", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "c1",
          content: [{ type: "text", text: "noon" }, image, { type: "text", text: "sharp" }] as never,
        },
        { type: "tool_result", tool_use_id: "c2", content: [], is_error: true },
        { type: "text", text: "and" },
        { type: "text", text: "" },
        { type: "text", text: "so" },
        image,
        { type: "tool_result", tool_use_id: "c9", content: [{ type: "text", text: "?" }] },
      ],
    },
  ];
  assert.deepEqual(said(writeMessages(invoke, messages, tools)), [
    'assistant: <function_calls>\n<invoke name="now">\n</invoke>\n</function_calls>\n<function_calls>\n<invoke name="write">\n</invoke>\n</function_calls>',
    'user: <function_results>\n<result name="now">\nnoon\n[image: below]\nsharp\n</result>\n<result name="write" error="true">\n</result>\n</function_results> | [image] | and\nso | [image] | <function_results>\n<result name="unknown">\n?\n</result>\n</function_results>',
  ]);
  assert.match(
    said(writeMessages(qwen, messages, tools))[1]!,
    /^user: <tool_response>\nnoon\n.*\n<\/tool_response>\n<tool_response>\nError:\n<\/tool_response> \| \[image\]/s,
  );
  assert.match(
    said(writeMessages(hermes, messages, tools))[1]!,
    /\{"name":"write","content":"","error":true\}\n<\/tool_response> \|/,
  );
});

test("a message that was only thinking leaves no gap, and a malformed call is shown as text (XML-2, XML-7)", () => {
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [{ type: "thinking", thinking: "?" }] },
    { role: "user", content: [{ type: "text", text: "b" }] },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "c", name: "now", input: null, malformed: "<tool_call>now" }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [{ type: "text", text: "no" }] }] },
    { role: "assistant", content: [{ type: "tool_use", name: "now", input: [1] }] },
  ];
  assert.deepEqual(said(writeMessages(hermes, messages, tools)), [
    "user: a\nb",
    "assistant: <\\tool_call>now",
    'user: <tool_response>\n{"name":"now","content":"no"}\n</tool_response>',
    'assistant: {"name":"now","input":[1]}',
  ]);
  assert.equal(messages[0]!.content.length, 1, "the transcript itself stays as it is");
});

test("two halves of a tag in two texts make no tag, and white space alone is no text before a call (XML-5)", () => {
  assert.deepEqual(
    said(
      writeMessages(
        hermes,
        [
          {
            role: "user",
            content: [
              { type: "text", text: "<tool" },
              { type: "text", text: "_call>" },
            ],
          },
        ],
        [],
      ),
    ),
    ["user: <tool\n_call>"],
  );
  assert.deepEqual(
    said(
      writeMessages(
        hermes,
        [
          {
            role: "assistant",
            content: [
              { type: "text", text: " \n" },
              { type: "tool_use", name: "now", input: {} },
            ],
          },
        ],
        [],
      ),
    ),
    ['assistant: <tool_call>\n{"name":"now","arguments":{}}\n</tool_call>'],
  );
});

suite("the system text (XML-2)", () => {
  test("is the context's, escaped, then the tools, one a line, and how to call them; the same bytes every time", () => {
    for (const [dialect, wrapper] of [
      [invoke, "functions"],
      [hermes, "tools"],
      [qwen, "tools"],
    ] as const) {
      const text = writeSystem(dialect, `Be brief. ${dialect.open}`, tools)!;
      assert.ok(text.startsWith(`Be brief. <\\${dialect.open.slice(1)}\n\n`), dialect.name);
      assert.equal(writeSystem(dialect, `Be brief. ${dialect.open}`, tools), text);
      const [, lines = ""] = new RegExp(`<${wrapper}>\n(.*?)\n</${wrapper}>`, "s").exec(text)!;
      const functions = lines.split("\n").map((line) => JSON.parse(line) as { function?: unknown });
      assert.deepEqual(
        functions.map((each) => each.function ?? each),
        [
          { name: "write", description: writeTool.description, parameters: writeTool.input_schema },
          { name: "now", parameters: { type: "object" } },
        ],
      );
      for (const rule of [/One call an answer/, /code fence/, /put a backslash after its "<": <\\/])
        assert.match(text, rule);
    }
  });

  test("shows how a call is written, and that example is a call", () => {
    const example = { name: "FUNCTION", input_schema: { properties: { PARAMETER: { type: "string" } } } };
    for (const dialect of Object.values(dialects)) {
      const text = writeSystem(dialect, undefined, tools)!;
      const shown = text.slice(text.indexOf(`\n${dialect.open}\n`), text.indexOf("\n\n- "));
      const read = readIn(dialect, [shown], [example]);
      assert.deepEqual([read.end, read.text, read.name], ["complete", "", "FUNCTION"]);
      assert.deepEqual(JSON.parse(read.json), { PARAMETER: "VALUE" });
      assert.equal(text.split("\n\n").length, 4, "what there is, its list, how to call, what to mind");
      for (const part of text.split("\n\n")) assert.notEqual(part, "");
      const [, , , rules = ""] = text.split("\n\n");
      for (const line of rules.split("\n")) assert.match(line, /^- .{40}/);
      assert.match(text, dialect.name === "invoke" ? /in the <function_results>/ : /in the <tool_response>/);
      if (dialect.name !== "invoke") assert.match(text, /\{"type":"function","function":\{"name":"now"/);
    }
  });

  test("without tools is the context's alone, and none where both are empty; tool_choice is said in words", () => {
    assert.equal(writeSystem(hermes, "Be brief.", [], { type: "tool", name: "now" }), "Be brief.");
    assert.equal(writeSystem(hermes, undefined, []), undefined);
    assert.equal(writeSystem(hermes, "", []), undefined);
    assert.ok(writeSystem(hermes, "", tools)!.startsWith("You can call"));
    assert.match(writeSystem(hermes, undefined, tools, { type: "any" })!, /have to call one of the functions\.$/);
    assert.match(writeSystem(hermes, undefined, tools, { type: "tool", name: "now" })!, /have to call now\.$/);
    assert.equal(writeSystem(hermes, undefined, tools, { type: "auto" }), writeSystem(hermes, undefined, tools));
  });
});
