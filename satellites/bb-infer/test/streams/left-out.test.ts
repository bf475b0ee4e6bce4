import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, chat, compatible, converse, gemini, messages, responses, type Format } from "../formats/index.ts";
import { openRemote } from "../../src/remote/provider.ts";
import { hello, never, outcome } from "./asking.ts";
import { plays, serving } from "./server.ts";

const params = {
  temperature: 0.5,
  top_k: 3,
  stop: "END",
  seed: 7,
  presence_penalty: 0.25,
  frequency_penalty: 0.125,
};
const penalties = ["frequency_penalty", "presence_penalty"];

/** What each of them leaves out, and of its models that think beside that. */
const table: [Format, string[], thinking?: { model: string; more: string[]; params?: object }][] = [
  [
    messages,
    ["seed", ...penalties],
    { model: "claude-sonnet-4-5", more: ["temperature", "top_k"], params: { reasoning: "low" } },
  ],
  [converse, ["seed", ...penalties]],
  [responses, ["stop", "seed", "top_k", ...penalties], { model: "gpt-5-mini", more: ["temperature"] }],
  [chat, ["top_k"], { model: "gpt-5-mini", more: ["temperature", ...penalties] }],
  [gemini, penalties],
  [compatible, []],
];

for (const [format, always, thinking] of table) {
  test(`${format.name}: every parameter is sent, or said to be left out, once for a model`, async (t) => {
    const model = format === responses ? "gpt-4.1" : format.options({ origin: "" }).model;
    for (const one of [{ model, more: [], params: {} }, ...(thinking ? [thinking] : [])]) {
      const server = await serving(t, plays(format, answer(format, "Here")));
      const lines: string[] = [];
      const options = { ...format.options(server), model: one.model, retry: never };
      const provider = await openRemote({
        ...options,
        params: { ...params, ...one.params },
        report: (line) => lines.push(line),
      });
      for (let time = 0; time < 2; time += 1) assert.equal((await outcome(provider)).reply.said, "Here");
      const told = lines.map((line) => / at http.*: (\w+) is left out/.exec(line)?.[1] ?? line);
      const expected = [...always, ...one.more];
      assert.deepEqual(told.toSorted(), [...new Set(expected)].toSorted());
      const body = JSON.stringify(server.heard[0]?.body);
      for (const [name, value] of Object.entries(params)) {
        const sent = new RegExp(`[:[]${JSON.stringify(value)}[\\],}]`).test(body);
        assert.equal(sent, !expected.includes(name), `${one.model}: ${name} in ${body}`);
      }
      for (const line of lines) assert.ok(line.startsWith(`bb-infer: ${one.model} at ${server.origin}`), line);
      const another = format === gemini ? "gemini-2.5-pro" : "another-model";
      await outcome(provider, { request: { ...hello, model: another } });
      assert.equal(new Set(lines).size, lines.length);
      assert.ok(always.length === 0 || lines.some((line) => line.includes(another)));
    }
  });
}
