import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import {
  dialects,
  writeMessages,
  writeSystem,
  type Block,
  type Dialect,
  type Message,
} from "../../../src/wire/index.ts";
import { text as anyText } from "../events.ts";
import { cutAt, everyDialect, hostileText, readIn, readWhole, tools } from "./texts.ts";

const text = fc.oneof(hostileText, anyText);
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: "binary" })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const key = fc.oneof(hostileText, fc.constantFrom("path", "x", "")).filter((name) => name !== "__proto__");
const input = fc
  .tuple(
    fc.record(
      {
        path: text,
        lines: fc.integer(),
        mode: fc.constantFrom("a", "b", "7"),
        note: fc.oneof(text, fc.constant(null)),
        deep: fc.array(fc.oneof(text, json), { maxLength: 3 }),
        any: fc.oneof(text, json),
        ref: text,
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    fc.dictionary(key, fc.oneof(text, json), { maxKeys: 2, noNullPrototype: true }),
  )
  // A raw value is always text: the wrong type for a key cannot be told from it.
  .map(([known, others]) => ({
    ...Object.fromEntries(Object.entries(others).filter(([name]) => !["path", "mode", "ref"].includes(name))),
    ...known,
  }));

const assistant = (...content: Block[]): Message[] => [{ role: "assistant", content }];
const written = (dialect: Dialect, messages: Message[]): string =>
  writeMessages(dialect, messages, tools)
    .flatMap(({ content }) => content.map((block) => String(block["text"])))
    .join("");

suite("what is written is read back", () => {
  test("a text alone: exactly, whatever it holds, and never as a call (XML-5)", () => {
    fc.assert(
      fc.property(everyDialect, text, fc.array(fc.nat(), { maxLength: 6 }), (dialect, said, at) => {
        const page = written(dialect, assistant({ type: "text", text: said }));
        assert.deepEqual(readIn(dialect, cutAt(page, at)), { text: said, json: "" });
      }),
      { numRuns: 2000 },
    );
  });

  test("a call with any arguments, after any text: the same arguments, the text without its last white space (XML-2, XML-3)", () => {
    fc.assert(
      fc.property(everyDialect, text, input, (dialect, said, args) => {
        const page = written(
          dialect,
          assistant({ type: "text", text: said }, { type: "tool_use", id: "c", name: "write", input: args }),
        );
        const read = readWhole(dialect, page);
        assert.equal(read.end, "complete", page);
        assert.equal(read.name, "write");
        assert.deepEqual(JSON.parse(read.json), args);
        const trimmed = said.replace(/[ \t\r\n]+$/, "");
        // A fence that was left open is closed before the call.
        assert.ok(
          read.text === trimmed ||
            (read.text.startsWith(trimmed) && /^\n(?:`+|~+)$/.test(read.text.slice(trimmed.length))),
          page,
        );
      }),
      { numRuns: 2000 },
    );
  });

  test("nothing that a person, a context or a tool said holds a tag that the Hub did not write (XML-5)", () => {
    const tags = (page: string, dialect: Dialect): string[] => page.match(tagOf(dialect)) ?? [];
    const plain = (dialect: Dialect, fields: { said: string; system: string; result: string }): string =>
      JSON.stringify([
        writeSystem(dialect, fields.system, [
          { name: "t", description: fields.said, input_schema: { title: fields.result } },
        ]),
        writeMessages(
          dialect,
          [
            { role: "user", content: [{ type: "text", text: fields.said }] },
            { role: "assistant", content: [{ type: "tool_use", id: "c", name: "t", input: {} }] },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "c", content: [{ type: "text", text: fields.result }] },
                { type: "text", text: fields.said },
              ],
            },
          ],
          [],
        ),
      ]);
    fc.assert(
      fc.property(everyDialect, text, text, text, (dialect, said, system, result) => {
        const harmless = { said: "s", system: "y", result: "r" };
        assert.deepEqual(
          tags(plain(dialect, { said, system, result }), dialect),
          tags(plain(dialect, harmless), dialect),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

/** The tags of each dialect, as its models know them. */
function tagOf({ name }: Dialect): RegExp {
  if (name === "invoke") return /<\/?(?:function_calls|function_results|functions|invoke|parameter|result|think)/g;
  if (name === "hermes") return /<\/?(?:tool_call|tool_response|tools|think)/g;
  return /<\/?(?:tool_call|tool_response|tools|function|parameter|think)/g;
}

test("an answer gives the same events however it is cut, at every place and character by character (XML-6)", () => {
  for (const dialect of Object.values(dialects)) {
    const page = written(
      dialect,
      assistant(
        { type: "text", text: "I`ll <\\see\n```js\n<tool_call>\n```\n" },
        { type: "tool_use", name: "write", input: { path: "a\n</parameter>\n😀<", lines: 3, any: [{}], note: "n" } },
      ),
    );
    const whole = readWhole(dialect, page);
    assert.equal(whole.end, "complete");
    for (let at = 0; at <= page.length; at++)
      assert.deepEqual(readIn(dialect, cutAt(page, [at])), whole, `${dialect.name} cut at ${at}`);
    assert.deepEqual(readIn(dialect, page.split("")), whole, dialect.name);
  }
});

test("any text at all gives the same events however it is cut (XML-6)", () => {
  const call = fc.oneof(
    hostileText,
    fc
      .tuple(fc.constantFrom(...Object.values(dialects)), hostileText, hostileText)
      .map(
        ([dialect, value, tail]) =>
          `${dialect.call("write", { path: "@", lines: 1, note: "x" }, () => ({ read: "raw" })).replace("@", value)}${tail}`,
      ),
  );
  fc.assert(
    fc.property(everyDialect, call, fc.array(fc.nat(), { maxLength: 12 }), (dialect, page, at) => {
      const whole = readWhole(dialect, page);
      assert.deepEqual(readIn(dialect, cutAt(page, at)), whole);
      assert.deepEqual(readIn(dialect, page.split("")), whole);
      if (whole.end === "complete") assert.equal(typeof JSON.parse(whole.json), "object");
    }),
    { numRuns: 3000 },
  );
});
