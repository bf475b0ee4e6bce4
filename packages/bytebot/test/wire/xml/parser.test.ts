import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { dialects, XmlParser } from "../../../src/wire/index.ts";
import { readIn, readWhole, tools, type Read } from "./texts.ts";

const { invoke, hermes, qwen } = dialects;

/** A call in the form of `invoke`, its parameters as they are given. */
const invoked = (inner: string, name = "write"): string =>
  `<function_calls>\n<invoke name="${name}">\n${inner}</invoke>\n</function_calls>`;
const parameter = (key: string, value: string): string => `<parameter name="${key}">${value}</parameter>\n`;
const qwened = (inner: string): string => `<tool_call>\n<function=write>\n${inner}</function>\n</tool_call>`;

const why = (read: Read): string => {
  assert.ok(typeof read.end === "object", `it is malformed: ${JSON.stringify(read)}`);
  return read.end.reason;
};
const input = (read: Read): unknown => {
  assert.equal(read.end, "complete", JSON.stringify(read));
  return JSON.parse(read.json);
};

suite("a value (XML-3, XML-4)", () => {
  test("of a string schema is taken as it is, of any other as JSON", () => {
    const call = invoked(
      parameter("path", '"7" & <b> &lt; \\n ') +
        parameter("lines", " 7\n") +
        parameter("deep", '["7", {"a": null}]') +
        parameter("any", '"x"'),
    );
    assert.deepEqual(input(readWhole(invoke, call)), {
      path: '"7" & <b> &lt; \\n ',
      lines: 7,
      deep: ["7", { a: null }],
      any: "x",
    });
    assert.deepEqual(
      input(readWhole(invoke, invoked(parameter("mode", "7") + parameter("ref", "7") + parameter("path", "")))),
      { mode: "7", ref: "7", path: "" },
    );
  });

  test("of a schema that allows strings and more is JSON where that fits, else the text", () => {
    const note = (text: string): unknown =>
      (input(readWhole(invoke, invoked(parameter("note", text)))) as { note: unknown }).note;
    assert.deepEqual(["null", " null ", "nil", "7", '"7"', "[", ""].map(note), [null, null, "nil", "7", "7", "[", ""]);
    const schema = (type: unknown) => [{ name: "write", input_schema: { properties: { x: type } } }];
    const x = (type: unknown, text: string): unknown =>
      input(readIn(invoke, [invoked(parameter("x", text))], schema(type)));
    assert.deepEqual(x({ type: ["string", "integer"] }, "7"), { x: 7 });
    assert.deepEqual(x({ type: ["string", "integer"] }, "7.5"), { x: "7.5" });
    assert.deepEqual(x({ type: ["string", "number"] }, "7.5"), { x: 7.5 });
    assert.deepEqual(x({ oneOf: [{ type: "string" }, { type: "boolean" }] }, "true"), { x: true });
    assert.deepEqual(x({ oneOf: [{ type: "string" }, { type: "array" }] }, "{}"), { x: "{}" });
    assert.deepEqual(x({ oneOf: [{ type: "string" }, { type: "array" }] }, "[1]"), { x: [1] });
    assert.deepEqual(x({ oneOf: [{ const: "a" }, { const: 7 }] }, "7"), { x: 7 });
    assert.deepEqual(x({ const: "7" }, "7"), { x: "7" });
    assert.deepEqual(x({ type: ["string", "null"] }, "a<\\/parameter><\\invoke>"), { x: "a</parameter><invoke>" });
  });

  test("of a parameter that the schema does not name goes by additionalProperties, else it is JSON", () => {
    const tool = (input_schema: Record<string, unknown>) => [{ name: "write", input_schema }];
    const call = invoked(parameter("x", "a"));
    assert.deepEqual(input(readIn(invoke, [call], tool({ additionalProperties: { type: "string" } }))), { x: "a" });
    for (const schema of [
      {},
      { properties: [] },
      { properties: { x: true } },
      { properties: { x: { $ref: "#/$defs/N" } } },
      { properties: { x: { $ref: "#/$defs/N" } }, $defs: { N: { $ref: "#/$defs/N" } } },
      { properties: { x: { anyOf: [{ type: "string" }, {}] } } },
      { properties: { x: { type: "object" } } },
      { $defs: { N: { type: "string" } }, properties: { x: { $ref: "#/other/N" } } },
    ]) {
      assert.match(why(readIn(invoke, [call], tool(schema))), /parameter "x" is not JSON/, JSON.stringify(schema));
    }
    assert.deepEqual(
      input(
        readIn(
          invoke,
          [call],
          tool({ properties: { x: { $ref: "#/definitions/N" } }, definitions: { N: { type: "string" } } }),
        ),
      ),
      { x: "a" },
    );
    assert.match(why(readIn(invoke, [invoked(parameter("constructor", "a"))], tool({ properties: {} }))), /not JSON/);
    assert.match(why(readIn(invoke, [invoked(parameter("x", "a"))], [])), /not JSON/);
  });

  test("ends at its closing tag only where another parameter or the end of the call follows", () => {
    const value =
      "</parameter> </parameter>x</invoke></function_calls><parameter name=y</parameter ></parameter>\n</invoke";
    assert.deepEqual(input(readWhole(invoke, invoked(parameter("path", value) + parameter("lines", "1")))), {
      path: value,
      lines: 1,
    });
    const lined = "</parameter>\n</parameter>x</function></tool_call><parameter y\n\n";
    assert.deepEqual(input(readWhole(qwen, qwened(`<parameter=path>\n${lined}\n</parameter>\n`))), { path: lined });
  });

  test("in qwen has lines of its own, whose two line breaks are not part of it", () => {
    const value = (text: string): unknown =>
      (input(readWhole(qwen, qwened(`<parameter=path>${text}</parameter>`))) as { path: unknown }).path;
    assert.deepEqual(["a", "\na\n", "\n\na\n\n", "\n", "\n\n", "\n\n\n", "", "a\n", "\na", "a\n\nb"].map(value), [
      "a",
      "a",
      "\na\n",
      "",
      "",
      "\n",
      "",
      "a",
      "a",
      "a\n\nb",
    ]);
    assert.deepEqual(
      input(readWhole(qwen, qwened("<parameter=lines>\n7\n</parameter><parameter=note>\nn\n</parameter>"))),
      { lines: 7, note: "n" },
    );
  });

  test("holds a tag as text with a backslash after its <", () => {
    assert.deepEqual(
      input(readWhole(invoke, invoked(parameter("path", "<\\/parameter></invoke><\\\\invoke><\\b><\\")))),
      { path: "</parameter></invoke><\\invoke><\\b><\\" },
    );
  });
});

suite("a call (XML-3)", () => {
  test("without parameters has no arguments", () => {
    for (const read of [
      readWhole(invoke, invoked("", "now")),
      readWhole(qwen, "<tool_call><function=now></function></tool_call>"),
      readWhole(hermes, '<tool_call>{"name":"now","arguments":{}}</tool_call>'),
    ]) {
      assert.deepEqual([read.name, input(read), read.text], ["now", {}, ""]);
    }
  });

  test("may have white space between its tags and after it, and drops that before it", () => {
    const spaced =
      ' \n<function_calls>\t<invoke name="write">  <parameter name="lines">1</parameter>\r\n</invoke></function_calls> \n\n';
    assert.deepEqual(readWhole(invoke, spaced), { text: "", name: "write", json: '{"lines":1}', end: "complete" });
    assert.deepEqual(
      readWhole(
        hermes,
        'Now.\n <tool_call>{ "arguments" : {"a": "</tool_call>}\\""} , "id":[1,{"name":2}], "name": "write" } </tool_call>\n',
      ),
      { text: "Now.", name: "write", json: ' {"a": "</tool_call>}\\""} ', end: "complete" },
    );
  });

  test("has the names of its parameters with the entities of XML", () => {
    assert.deepEqual(
      input(
        readWhole(invoke, invoked(parameter("a&quot;&gt;&amp;lt;&#10;&apos;&nbsp;&#9999999;&#65535;&#65536;", "1"))),
      ),
      { "a\">&lt;\n'&nbsp;&#9999999;\uffff&#65536;": 1 },
    );
  });

  test("shows its name before its arguments, and these as they come", () => {
    const parser = new XmlParser(hermes, tools);
    assert.deepEqual(parser.push('Hm. <tool_call>{"name":"write","argu'), [
      { type: "text", text: "Hm." },
      { type: "call", name: "write" },
    ]);
    assert.deepEqual(parser.push('ments" '), []);
    assert.deepEqual(parser.push(':{"path":"a'), [{ type: "arguments", json: '{"path":"a' }]);
    assert.deepEqual(parser.push('b"}}'), [{ type: "arguments", json: 'b"}' }]);
    assert.deepEqual(parser.push("</tool_call>"), []);
    assert.deepEqual(parser.end(), [{ type: "complete" }]);
    const tagged = new XmlParser(invoke, tools);
    assert.deepEqual(tagged.push('<function_calls><invoke name="write"><parameter name="path">a\n<'), [
      { type: "call", name: "write" },
      { type: "arguments", json: '{"path":"a\\n' },
    ]);
    assert.deepEqual(tagged.push("b"), [{ type: "arguments", json: "<b" }]);
  });
});

suite("what is malformed is told, and no call (XML-7)", () => {
  const call = invoked(parameter("lines", "1"));
  const cases: [string, string, RegExp][] = [
    ["a call and text", `${call} Done.`, /follows the call/],
    ["a call and its invented result", `${call}\n<function_results>`, /follows the call/],
    ["two calls", `${call}\n${call}`, /follows the call/],
    [
      "two functions in one",
      call.replace("</invoke>", '</invoke>\n<invoke name="now"></invoke>'),
      /<\/function_calls> has to follow/,
    ],
    ["no function", "<function_calls></function_calls>", /<invoke name="… has to follow/],
    ["a function of no wrapper", call.replace("<function_calls>", ""), /begins with <function_calls>/],
    ["text between parameters", invoked(`and ${parameter("lines", "1")}`), /may stand between/],
    ["a value that is no JSON", invoked(parameter("lines", "one")), /"lines" is not JSON/],
    ["a value that is two", invoked(parameter("lines", "1 2")), /"lines" is not JSON/],
    ["an empty value that should be JSON", invoked(parameter("lines", "")), /"lines" is not JSON/],
    ["a value nested too deep", invoked(parameter("deep", "[".repeat(5000) + "]".repeat(5000))), /"deep" is not JSON/],
    ["one parameter twice", invoked(parameter("lines", "1") + parameter("lines", "2")), /"lines" is there twice/],
    ["a name that is none", invoked("", "a b"), /name cannot be read/],
    ["a name without an end", `<function_calls><invoke name="${"a".repeat(100)}`, /name cannot be read/],
    [
      "an attribute too many",
      '<function_calls><invoke name="now" id="1"></invoke></function_calls>',
      /written as <invoke name="…">/,
    ],
    ["a name without its quote", '<function_calls><invoke name="now></invoke></function_calls>', /written as/],
    ["the end of the answer in a value", '<function_calls><invoke name="write"><parameter name="path">rm', /not whole/],
    ["the end of the answer in a closing tag", call.slice(0, -1), /not whole/],
    ["the end of the answer before the last tag", call.replace("</function_calls>", ""), /not whole/],
    ["only the opening tag", "<function_calls>", /not whole/],
  ];
  for (const [what, text, reason] of cases)
    test(`in invoke: ${what}`, () => assert.match(why(readWhole(invoke, text)), reason));

  const object: [string, string, RegExp][] = [
    ["no object", "<tool_call>now</tool_call>", /between its tags/],
    ["an array", "<tool_call>[]</tool_call>", /between its tags/],
    ["Python's quotes", "<tool_call>{'name':'now','arguments':{}}</tool_call>", /not JSON/],
    ["no name", '<tool_call>{"arguments":{}}</tool_call>', /between its tags/],
    ["a name that is no text", '<tool_call>{"name":1,"arguments":{}}</tool_call>', /between its tags/],
    ["no arguments", '<tool_call>{"name":"now"}</tool_call>', /between its tags/],
    ["arguments in a text", '<tool_call>{"name":"now","arguments":"{}"}</tool_call>', /between its tags/],
    ["null for arguments", '<tool_call>{"name":"now","arguments":null}</tool_call>', /between its tags/],
    ["a list of arguments", '<tool_call>{"name":"now","arguments":[]}</tool_call>', /between its tags/],
    ["two names", '<tool_call>{"name":"now","name":"write","arguments":{}}</tool_call>', /between its tags/],
    [
      "arguments twice",
      '<tool_call>{"name":"now","arguments":{},"argument\\u0073":{"a":1}}</tool_call>',
      /between its tags/,
    ],
    ["a name that is none", '<tool_call>{"name":"a b","arguments":{}}</tool_call>', /name cannot be read/],
    ["no comma", '<tool_call>{"name":"now" "arguments":{}}</tool_call>', /not JSON/],
    ["too few braces", '<tool_call>{"name":"now","arguments":{}</tool_call>', /not whole/],
    [
      "another tag after it",
      '<tool_call>{"name":"now","arguments":{}}</function_calls>',
      /<\/tool_call> has to follow/,
    ],
    ["too many braces", '<tool_call>{"name":"now","arguments":{}}}</tool_call>', /<\/tool_call> has to follow/],
    [
      "two calls",
      '<tool_call>{"name":"now","arguments":{}}</tool_call><tool_call>{"name":"now","arguments":{}}</tool_call>',
      /follows the call/,
    ],
  ];
  for (const [what, text, reason] of object)
    test(`in hermes: ${what}`, () => assert.match(why(readWhole(hermes, text)), reason));

  test("in qwen: a function without its wrapper, and a name with a quote", () => {
    assert.match(why(readWhole(qwen, "<function=now></function></tool_call>")), /begins with <tool_call>/);
    assert.match(why(readWhole(qwen, '<tool_call><function="now"></function></tool_call>')), /name cannot be read/);
  });

  test("what was written is kept, up to 2000 characters, and nothing of it is text", () => {
    const read = readWhole(invoke, `Hm. ${invoked(parameter("path", "x".repeat(3000)))}! No more.`);
    assert.equal(read.text, "Hm.");
    assert.ok(typeof read.end === "object");
    assert.equal(read.end.written.length, 2000);
    assert.ok(read.end.written.startsWith('<function_calls>\n<invoke name="write">'));
    const short = readWhole(invoke, "<function_calls> no");
    assert.deepEqual((short.end as { written: string }).written, "<function_calls> no");
  });

  test("arguments over the limit", () => {
    const limited = (limit: number): unknown => {
      const parser = new XmlParser(invoke, tools, limit);
      return [...parser.push(invoked(parameter("path", "12345"))), ...parser.end()].at(-1);
    };
    assert.deepEqual(limited('{"path":"12345"}'.length), { type: "complete" });
    assert.match(JSON.stringify(limited('{"path":"12345"}'.length - 1)), /over 15 characters/);
  });
});

suite("what is text (XML-6, XML-8)", () => {
  const now = '<tool_call>{"name":"now","arguments":{}}</tool_call>';
  const called = (text: string): boolean => readWhole(hermes, text).name === "now";
  const asText = (text: string): void => assert.deepEqual(readWhole(hermes, text), { text, json: "" });

  test("another dialect's call, other tags of its own, and tags that are not exact", () => {
    for (const other of [
      invoked(""),
      "</tool_call> <tool_response>",
      "<Tool_call>",
      "< tool_call>",
      "<tool_call >",
      "<tools>",
    ])
      asText(other);
    assert.deepEqual(readWhole(qwen, "</function> </parameter><parameter=a>"), {
      text: "</function> </parameter><parameter=a>",
      json: "",
    });
    assert.deepEqual(readWhole(invoke, now), { text: now, json: "" });
  });

  test("what can be no tag any more is passed on at once", () => {
    for (const text of ["a <b", "a <\\b", "a <\\\\/x", "a <tool_x", "<tools", "a <tool_call "]) {
      assert.deepEqual(new XmlParser(hermes, tools).push(text), [{ type: "text", text: text.trimEnd() }]);
    }
  });

  test("half a tag at the end, white space at the end", () => {
    for (const text of ["a <tool_cal", "<", "a <\\", "a <\\too", "a <\\\\\\tool_cal", "x \n\n", "", " "]) asText(text);
  });

  test("a tag with a backslash: shown without", () => {
    assert.deepEqual(readWhole(hermes, `<\\tool_call> <\\\\/tool_call>`), {
      text: "<tool_call> <\\/tool_call>",
      json: "",
    });
  });

  test("a call within a code fence, and in the line that opens one; behind the fence it is one", () => {
    for (const [open, close] of [
      ["```", "```"],
      ["~~~", "~~~"],
      ["```xml", "````  "],
      ["  ```", " ```\t"],
      ["> ```", "> ```"],
      ["~~~ ``` ", "~~~"],
      ["```\r", "```\r"],
    ]) {
      asText(`So:\n${open}\n${now}\n${close}\nThat is all.`);
      asText(`${open}\n${now}`);
      assert.ok(called(`${open}\nx\n${close}\n${now}`), `${open} and ${close}`);
    }
    for (const [open, inside] of [
      ["```", "~~~"],
      ["````", "```"],
      ["```", "``` x"],
      ["```", "x ```"],
      ["```", "``"],
      ["~~~", "~~~~ x"],
      ["```", "```x"],
    ]) {
      asText(`${open}\n${inside}\n${now}`);
    }
    for (const none of ["``", "x ```", "``` a``` b", "~~", "``~", "`~~"]) assert.ok(called(`${none}\n${now}`), none);
    asText("```js " + now);
    assert.ok(called("~~~\n~~~\n~~~\n~~~ \n" + now));
    assert.ok(called("``` a ` " + now), "inline code that begins a line");
    assert.ok(called("~a " + now), "one tilde");
  });

  test("a tag right after a backtick", () => {
    asText(`The tag \`${now}\` calls.`);
    assert.ok(called(`The tag \`x\` calls. ${now}`));
    assert.deepEqual(readIn(hermes, ["a `", "<tool_call>", "`"]), { text: "a `<tool_call>`", json: "" });
  });

  test("what is between <think> and </think> at the beginning, also a fence in it; behind it a call is one", () => {
    asText(` \n<think>So: ${now} `);
    const read = readWhole(hermes, `<think>\n\`\`\`\n${now}</think>\n${now}`);
    assert.deepEqual([read.text, read.end], [`<think>\n\`\`\`\n${now}</think>`, "complete"]);
    assert.ok(called(`Well <think> ${now}`), "not at the beginning");
    asText(`<think>${now}${now}</thin`);
    assert.ok(called(`</think> ${now}`));
  });

  test("each block of text on its own: half a tag, a fence and thinking do not reach into the next", () => {
    const parser = new XmlParser(hermes, tools);
    assert.deepEqual(parser.push("```\n<tool"), [{ type: "text", text: "```" }]);
    assert.deepEqual(parser.pause(), [{ type: "text", text: "\n<tool" }]);
    assert.equal(parser.inCall, false);
    assert.deepEqual(parser.push(`_call> ${now}`), [
      { type: "text", text: "_call>" },
      { type: "call", name: "now" },
      { type: "arguments", json: "{}" },
    ]);
    assert.equal(parser.inCall, true);
    assert.deepEqual(parser.pause(), []);
    assert.deepEqual(parser.push("\n "), []);
    assert.deepEqual(parser.end(), [{ type: "complete" }]);
    assert.deepEqual(parser.end(), []);
  });

  test("and a call that its block cuts, or that something else follows, is malformed", () => {
    const cut = new XmlParser(hermes, tools);
    cut.push("<tool_call>");
    assert.deepEqual(cut.pause(), []);
    assert.deepEqual(cut.push(now), []);
    assert.match(JSON.stringify(cut.end()), /malformed_call.*not whole/);
    const followed = new XmlParser(hermes, tools);
    followed.other();
    followed.push(now);
    followed.pause();
    followed.other();
    assert.match(JSON.stringify(followed.end()), /"now".*follows the call/);
  });
});
