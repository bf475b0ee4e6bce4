/**
 * Which tool does the embedded model choose? 20 fixed questions, four tools, `tool_choice: any`, temperature 0.
 * Prints a Markdown table. Run: node satellites/bb-infer/bench/tool-choice.ts [path of another GGUF]
 */
import { openEmbedded } from "../src/embedded/provider.ts";
import { prepareWeights } from "../src/weights/index.ts";
import { Collected, request, said } from "../test/collected.ts";
import { questions, tools } from "./questions.ts";

const { signal } = new AbortController();
const file = await prepareWeights({ model: process.argv[2], signal });
const provider = await openEmbedded({ file, signal });
const context = { signal, drained: () => Promise.resolve() };
let right = 0;
const began = performance.now();
console.log("| question | tool chosen | arguments | plausible tool |\n|---|---|---|---|");
for (const [question, plausible] of questions) {
  const reply = new Collected();
  await provider.infer(request({ messages: [said(question)], tools, tool_choice: { type: "any" } }), reply, context);
  const call = reply.blocks[0];
  const name = String(call?.["name"]);
  const yes = plausible.includes(name);
  if (yes) right += 1;
  console.log(
    `| ${question} | ${name} | \`${JSON.stringify(call?.["input"])}\` | ${yes ? "yes" : `no (${plausible.join(", ")})`} |`,
  );
}
const each = (performance.now() - began) / questions.length / 1000;
console.log(`\n${right} of ${questions.length} plausible; ${each.toFixed(1)} s a call. ${provider.label}`);
await provider.close();
