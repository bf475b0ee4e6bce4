import { setTimeout as sleep } from "node:timers/promises";
import * as bb from "../../sdk/index.ts";

/**
 * An infer that follows a script, and is no model: it has the first tool write a file with what the person said, then
 * tells what the tool answered. Options: `pace`, the milliseconds between two words.
 */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const pace = Number(opts["pace"] ?? 0);
  const satellite = await bb.sync({
    kind: "infer",
    name: "scripted",
    controller: false,
    capabilities: { api_shape: "anthropic" },
    signal,
  });
  satellite.onInfer(async (request, reply, { signal }) => {
    const say = async (text: string): Promise<void> => {
      for (const word of text.split(/(?<= )/)) {
        reply.text(word);
        if (pace > 0) await sleep(pace, undefined, { signal });
      }
    };
    const said = request.messages.at(-1)?.content ?? [];
    const result = said.find((block) => block.type === "tool_result");
    const tool = request.tools?.[0];
    if (result) {
      await say(result["is_error"] === true ? "That did not work. " : "Done. ");
      await say(`The tool answered: ${textOf(result["content"] as bb.Block[])}`);
    } else if (tool) {
      await say("A script answers here, not a model. I put what you wrote into a file: ");
      const call = reply.toolUse({ name: tool.name });
      const turn = request.messages.filter(
        ({ role, content }) => role === "user" && content.some(({ type }) => type === "text"),
      ).length;
      for (const part of [`{"path":"note-${turn}.txt",`, `"content":${JSON.stringify(textOf(said))}}`])
        call.delta(part);
      call.end();
      return { stop_reason: "tool_use" };
    } else await say("A script answers here, not a model, and it has no tool to call.");
    return { stop_reason: "end_turn" };
  });
  await satellite.start();
}

function textOf(blocks: readonly bb.Block[]): string {
  return blocks.map((block) => (block.type === "text" ? String(block["text"]) : "")).join("");
}
