import assert from "node:assert/strict";
import { dialects, writeMessages, type Block, type Dialect } from "../../src/wire/index.ts";
import { pieces, readIn, tools } from "../wire/xml/texts.ts";
import type { Random, Target } from "./random.ts";

const text = (random: Random): string =>
  random
    .some(16, () => (random.below(12) === 0 ? String.fromCharCode(random.below(0x300)) : random.pick(pieces)))
    .join("");

/** Random answers, cut at random; then random texts and arguments written and read back. */
export const xml: Target = (random) => {
  const dialect = random.pick(Object.values(dialects));
  const answer = random.below(2) === 0 ? text(random) : nearlyCall(dialect, random);
  const whole = readIn(dialect, [answer]);
  assert.deepEqual(readIn(dialect, random.cut(answer)), whole);
  assert.deepEqual(readIn(dialect, answer.split("")), whole);
  if (whole.end === "complete") {
    const input: unknown = JSON.parse(whole.json);
    assert.ok(typeof input === "object" && input !== null && !Array.isArray(input));
    assert.match(whole.name ?? "", /^[\w-]{1,64}$/);
  } else if (whole.end === undefined) assert.equal(whole.json, "");

  const said = text(random);
  const input = { path: text(random), note: random.pick([null, text(random)]), deep: [text(random)] };
  const call: Block = { type: "tool_use", id: "c", name: "write", input };
  const read = readIn(dialect, random.cut(write(dialect, [{ type: "text", text: said }, call])));
  assert.equal(read.end, "complete");
  assert.deepEqual(JSON.parse(read.json), input);
  assert.deepEqual(readIn(dialect, random.cut(write(dialect, [{ type: "text", text: said }]))), {
    text: said,
    json: "",
  });
};

const write = (dialect: Dialect, content: Block[]): string =>
  writeMessages(dialect, [{ role: "assistant", content }], tools)
    .flatMap((message) => message.content.map((block) => String(block["text"])))
    .join("");

/** A whole call with a little of it changed. */
function nearlyCall(dialect: Dialect, random: Random): string {
  const call = dialect.call("write", { path: text(random), lines: 1 }, () => ({ read: random.pick(["raw", "json"]) }));
  const [from, to] = [random.below(call.length + 1), random.below(4)];
  return (
    text(random) +
    call.slice(0, from) +
    random.pick([...pieces, ""]) +
    call.slice(from + to) +
    random.pick(["", "\n", text(random)])
  );
}
