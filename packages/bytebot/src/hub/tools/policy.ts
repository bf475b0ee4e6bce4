import { encloses, type PolicyRule } from "../../wire/index.ts";
import type { Tool } from "../state.ts";
import { idOf } from "./tools.ts";

export type Decision = PolicyRule["decision"];

/**
 * The last rule that matches the tool's name, model name or `component/name` in this scope decides. Without one: ask for
 * what calls itself destructive or came from a place the app's author does not control, else allow (rule POL-1).
 * A tool's own word never relaxes anything.
 */
export function decide(
  rules: readonly PolicyRule[],
  { tool, modelName }: { tool: Tool; modelName: string },
  scope: string,
  askFirst: boolean,
): Decision {
  const names = [tool.definition.name, modelName, idOf(tool)];
  const rule = rules.findLast(
    (candidate) =>
      names.some((name) => glob(candidate.tool, name)) &&
      (candidate.scope === undefined || encloses(candidate.scope, scope)),
  );
  if (rule) return rule.decision;
  return askFirst || tool.definition.annotations?.destructive === true ? "ask" : "allow";
}

/** `*` is any run of characters; everything else is itself. Linear in both lengths, whatever the pattern. */
export function glob(pattern: string, text: string): boolean {
  const [head = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return head === text;
  const tail = rest.pop()!;
  if (!text.startsWith(head) || text.length < head.length + tail.length || !text.endsWith(tail)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - tail.length;
}
