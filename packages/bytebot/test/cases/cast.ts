/** Who plays in the hard cases: a model that does what the person's words say, tools that do what they are named after. */
import { z } from "zod";
import * as bb from "../../src/sdk/index.ts";
import { aborted, calls, says, saysUntilStopped, SCOPE, type Answer, type Person } from "../transcripts/satellites.ts";
import type { Role } from "../transcripts/script.ts";

/** What the person said last in it. */
function lastWords({ messages }: bb.InferRequestEvent): string {
  const texts = messages.filter(({ role }) => role === "user").flatMap(({ content }) => content);
  return texts.findLast((block): block is bb.TextBlock => block.type === "text")?.text ?? "";
}

/** All that the person has said in it. */
export function wordsIn({ messages }: bb.InferRequestEvent): string[] {
  const blocks = messages.filter(({ role }) => role === "user").flatMap(({ content }) => content);
  return blocks.filter((block): block is bb.TextBlock => block.type === "text").map(({ text }) => text);
}

/** The results in it, in their order. */
export function resultsIn({ messages }: bb.InferRequestEvent): string[] {
  const blocks = messages.flatMap(({ content }) => content);
  const results = blocks.filter((block): block is bb.ToolResultBlock => block.type === "tool_result");
  return results.map(({ content }) => content.map((block) => ("text" in block ? String(block.text) : "")).join(""));
}

/** An infer that answers by the first word of what was said last: in round n with the nth answer, the last one after that. */
export function model(answers: Record<string, readonly Answer[]>): Role {
  return {
    name: "infer",
    kind: "infer",
    main: async ({ signal }) => {
      const satellite = await bb.sync({ kind: "infer", signal });
      satellite.onInfer((request: bb.InferRequestEvent, reply, context) => {
        const known = answers[lastWords(request).split(" ")[0]!] ?? [says("ok")];
        const answer = known[Math.min(request.round ?? 0, known.length - 1)]!;
        return Promise.resolve(answer(request, reply, { ...context, satellite }));
      });
      await satellite.start();
    },
  };
}

const path = z.object({ what: z.string().default("it") });

/** Runs until it is stopped, and says that it has begun. */
export const hold = bb.defineTool({
  name: "hold",
  input: path,
  run: async ({ what }, call) => {
    call.progress(`holds ${what}`);
    await aborted(call.signal);
    throw new bb.BytebotError("cancelled", `let go of ${what}`);
  },
});

/** Asks before it goes on. */
export const ask = bb.defineTool({
  name: "ask",
  input: path,
  run: async ({ what }, call) => {
    const { outcome, value } = await call.ask({ prompt: `May I have ${what}?`, options: ["yes", "no"] });
    return `${what}: ${outcome} ${String(value)}`;
  },
});

export const echo = bb.defineTool({ name: "echo", input: path, run: ({ what }) => what });
export const fails = bb.defineTool({
  name: "fails",
  input: path,
  run: () => {
    throw new bb.BytebotError("unavailable", "it is broken");
  },
});

/** Begins, and ends no more, whoever tells it to. */
export const deaf = bb.defineTool({
  name: "deaf",
  input: path,
  run: async (_input, call) => {
    call.progress("hears nothing");
    await new Promise<never>(() => undefined);
  },
});

export const silent: Answer = () => new Promise<never>(() => undefined);
export const stream = saysUntilStopped("Once upon a time");
export { aborted, calls, says, SCOPE };

/** The person says this, and the turn that it begins is over: how it ended. */
export async function turn(person: Person, text: string): Promise<bb.EventOf<"infer_chunk">> {
  await person.say(text);
  const end = await person.sees("infer_chunk", { kind: "loop_done", scope: SCOPE });
  await person.isDone();
  return end;
}

/** What the model wrote since this many events had come. */
export function textSince({ came }: Person, from: number): string {
  const stops = came.slice(from).filter(({ kind, block }) => kind === "block_stop" && block !== undefined);
  return stops.map(({ block }) => (block as { text?: string }).text ?? "").join("");
}
