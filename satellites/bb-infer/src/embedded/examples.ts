import type { ModelTool } from "bytebot/sdk";

/** A question and the arguments with which the tool answers it. */
export interface Example {
  question: string;
  input: Record<string, unknown>;
}

const MAX_EXAMPLES = 6;
/** Where examples are looked for, and how long each may be, in characters; a description is anybody's text. */
const MAX_DESCRIPTION = 16_000;
const MAX_INPUT = 2_000;
/** Places that look like an example, and ends that one may have. */
const MAX_LOOKS = 24;
const MAX_ENDS = 24;

/**
 * What a tool's author wrote into its description as `"How much is 12 times 3?" = {"expression":"12 * 3"}`. A large
 * model reads it there; a base model, which only continues patterns, gets it as a pattern. Without any, the description
 * stands for a question.
 */
export function examplesOf(tool: ModelTool): Example[] {
  const found = written(tool);
  return found.length > 0 ? found : [{ question: firstSentence(tool.description ?? tool.name), input: {} }];
}

export function hasExamples(tool: ModelTool): boolean {
  return written(tool).length > 0;
}

/** Of each tool its first, then of each its second: a base model is drawn to what stands last. */
export function interleaved(tools: readonly { name: string; examples: readonly Example[] }[]): [string, Example][] {
  const longest = Math.max(0, ...tools.map((tool) => tool.examples.length));
  return Array.from({ length: longest }, (_, at) =>
    tools.flatMap(({ name, examples }): [string, Example][] => (examples[at] ? [[name, examples[at]]] : [])),
  ).flat();
}

function written({ description = "" }: ModelTool): Example[] {
  const found: Example[] = [];
  const text = description.slice(0, MAX_DESCRIPTION);
  let looks = 0;
  for (const match of text.matchAll(/(?<!\\)("(?:[^"\\\n]|\\.)+")\s*(?:=|->|→)\s*(?=\{)/g)) {
    if (found.length === MAX_EXAMPLES || (looks += 1) > MAX_LOOKS) break;
    const input = objectAt(text, match.index + match[0].length);
    const question = parse(match[1] ?? "");
    if (typeof question === "string" && input) found.push({ question, input });
  }
  return found;
}

function objectAt(text: string, start: number): Record<string, unknown> | undefined {
  const part = text.slice(start, start + MAX_INPUT);
  let end = part.indexOf("}");
  for (let ends = 0; end >= 0 && ends < MAX_ENDS; ends += 1) {
    const value = parse(part.slice(0, end + 1));
    if (value !== undefined) return value as Record<string, unknown>;
    end = part.indexOf("}", end + 1);
  }
  return undefined;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function firstSentence(text: string): string {
  return /^.*?[.!?\n](?=\s|$)/s.exec(text)?.[0].trim() ?? text.slice(0, 200);
}
