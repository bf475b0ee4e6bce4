import { createHash } from "node:crypto";
import { prefixesOf } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { Approval, Conversation, Question, Tool } from "../state.ts";
import { Glob } from "./glob.ts";
import type { Ruling } from "./policy.ts";
import { canonical } from "./tools.ts";

/** An answer that says yes; anything else says no. */
export type Choice = "once" | "scope" | "remember";

export function isYes(choice: string): choice is Choice {
  return choice === "once" || choice === "scope" || choice === "remember";
}

/** What the person is asked, and what the answers are: `remember` only where the rule says for how long (rule POL-2). */
export function questionOf(
  name: string,
  input: unknown,
  tool: Tool,
  { rule }: Ruling,
): { prompt: string; options: string[]; approval: Record<string, unknown> } {
  const { approvers, remember_ms } = rule ?? {};
  return {
    prompt: `Run ${name}?`,
    options: ["once", "scope", ...(remember_ms === undefined ? [] : ["remember"]), "deny"],
    approval: {
      ...{ name, input, tool_hash: tool.hash },
      ...(approvers ? { approvers } : {}),
      ...(remember_ms === undefined ? {} : { remember_ms }),
    },
  };
}

/** Whose answer counts, by patterns of principals; undefined: whoever may answer questions. */
export function approversOf(question: Question): readonly string[] | undefined {
  return (question.event["approval"] as { approvers?: string[] } | undefined)?.approvers;
}

/** May this person answer? Nobody who is not known may, where it matters who does (rule POL-6). */
export function isEntitled(approvers: readonly string[] | undefined, principal: string | undefined): boolean {
  if (!approvers) return true;
  return principal !== undefined && approvers.some((pattern) => new Glob(pattern).matches(principal));
}

/** How long a yes binds, in milliseconds since 1970: as the Hub would have it, or less (rule POL-4). Undefined: this call alone. */
export function bindsUntil(core: Core, question: Question, choice: string, wish = Infinity): number | undefined {
  const { remember_ms = 0 } = question.event["approval"] as { remember_ms?: number };
  if (choice === "scope") return Math.min(wish, core.now + core.limits.approvalMs);
  if (choice === "remember") return Math.min(wish, core.now + remember_ms);
  return undefined;
}

/** Keeps what a person has said yes to: this tool as it is, exactly these arguments (rule POL-2). */
export function keepApproval(conversation: Conversation, hash: string, input: unknown, approval: Approval): void {
  conversation.approved.set(keyOf(hash, input), approval);
}

/**
 * The yes that allows this call without a question: given here, or above within the cell where it is to be remembered; by
 * somebody who might still answer.
 */
export function approvalOf(
  core: Core,
  conversation: Conversation,
  tool: Tool,
  input: unknown,
  { rule }: Ruling,
): Approval | undefined {
  const key = keyOf(tool.hash, input);
  for (const scope of prefixesOf(conversation.scope)) {
    const given = core.conversations.get(scope);
    if (given?.cell !== conversation.cell) continue;
    const approval = given.approved.get(key);
    if (!approval || core.now >= approval.until || (given !== conversation && !approval.below)) continue;
    if (isEntitled(rule?.approvers, approval.by)) return approval;
  }
  return undefined;
}

/** A hash: the arguments may be long, and many approvals are kept. */
function keyOf(hash: string, input: unknown): string {
  return createHash("sha256")
    .update(`${hash} ${canonical(input)}`)
    .digest("base64url");
}
