import assert from "node:assert/strict";
import { test } from "node:test";
import { dialects, writeMessages, XmlParser, type Message } from "../../../src/wire/index.ts";
import { readIn, readWhole, tools } from "./texts.ts";

const { invoke, hermes, qwen } = dialects;
const MEGA = 1024 * 1024;

test("16 MiB of < and megabytes of what nearly is a tag, a fence, an escape or white space are text, whole (XML-6)", () => {
  for (const [part, size] of [
    ["<", 16 * MEGA],
    ["<\\", MEGA],
    ["</parameter><", MEGA],
    ["\n", MEGA],
    ["`", MEGA],
    [" ", MEGA],
    ["<tool_call", MEGA],
    ["> ~~~\n", MEGA],
  ] as const) {
    const text = part.repeat(size / part.length);
    for (const dialect of [invoke, hermes]) {
      const read = readWhole(dialect, text);
      assert.ok(read.text === text && read.name === undefined, `${dialect.name}: ${JSON.stringify(part)}`);
    }
  }
});

test("a value of megabytes full of closing tags that close nothing is whole (XML-4)", () => {
  for (const part of ["</parameter>", "</parameter> <", "</parameter></invok", "</parameter>\n<parameter "]) {
    const value = part.repeat((2 * MEGA) / part.length);
    for (const dialect of [invoke, qwen]) {
      const call = dialect.call("write", { path: "@" }, () => ({ read: "raw" })).replace("@", () => value);
      const read = readWhole(dialect, call);
      assert.equal(read.end, "complete");
      assert.ok((JSON.parse(read.json) as { path: string }).path === value, `${dialect.name}: ${part}`);
    }
  }
});

test("a million pieces of one character give what one piece gives (XML-6)", () => {
  for (const [dialect, part] of [
    [invoke, "</parameter> "],
    [qwen, "\n"],
    [hermes, '"\\"'],
    [hermes, "<\\"],
  ] as const) {
    const half = part.repeat(500_000 / part.length);
    const text = `${half} x\n${dialect.call("write", { path: half, [part]: 1 }, () => ({ read: "raw" }))}`;
    const whole = readWhole(dialect, text);
    const single = readIn(dialect, text);
    assert.equal(whole.end, "complete");
    assert.ok(
      whole.text === single.text && whole.json === single.json && single.name === whole.name,
      `${dialect.name}: ${part}`,
    );
  }
});

test("what is dropped after a call is not kept (XML-7)", () => {
  const parser = new XmlParser(hermes, tools);
  parser.push('<tool_call>{"name":"now","arguments":{}}</tool_call> And');
  for (let piece = 0; piece < 32; piece++) assert.deepEqual(parser.push("x".repeat(MEGA)), []);
  const end = parser.end();
  assert.ok(JSON.stringify(end).length < 3000);
});

test("a transcript of 20,000 calls, fences and results is written (XML-2)", () => {
  const uses: Message = { role: "assistant", content: [] };
  const results: Message = { role: "user", content: [] };
  for (let n = 0; n < 20_000; n++) {
    uses.content.push({ type: "text", text: "```" }, { type: "tool_use", id: `c${n}`, name: "now", input: {} });
    results.content.push(
      { type: "tool_result", tool_use_id: `c${n}`, content: [{ type: "text", text: "noon" }] },
      { type: "text", text: "and" },
    );
  }
  const written = writeMessages(qwen, [uses, results], tools);
  assert.deepEqual(
    written.map(({ content }) => content.length),
    [1, 1],
  );
  assert.equal(String(written[0]!.content[0]!["text"]).split("<function=now>").length, 20_001);
});
