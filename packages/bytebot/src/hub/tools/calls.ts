import { BytebotError, tenantOf, type Block, type Event, type ToolCallRequest } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { mayTouch } from "../grants.ts";
import { approvalOf, isYes, keepApproval, questionOf, type Choice } from "./approvals.ts";
import type { Ruling } from "./policy.ts";
import { mustHaveRoom, open } from "./questions.ts";
import { askedBy, lost, refused } from "./results.ts";
import { checkHere, type Outcome } from "./schema.ts";
import { asker, forget } from "../seen.ts";
import type { Answerer, Call, Conversation, Synced, Tool } from "../state.ts";
import { findTool, idOf, servedBy } from "./tools.ts";

type ToolUse = Extract<Block, { type: "tool_use" }>;

/** The calls of a finished inference, in the order of its blocks: each gets exactly one result (rules TRN-5 and TOL-5). */
export function callsOf(loopId: string, uses: readonly ToolUse[], offered: ReadonlyMap<string, Tool>): Call[] {
  return uses.map((use) => newCall(use.id!, offered.get(use.name), use.name, use.input, loopId));
}

function newCall(id: string, tool: Tool | undefined, modelName: string, input: unknown, loopId?: string): Call {
  const name = tool?.definition.name ?? modelName;
  return { id, tool, name, modelName, input, loopId, state: "asking", to: undefined, deadline: undefined, left: 0 };
}

/** Checks one call and runs it, asks for it, or ends it at once with the reason. `refusal`: why it cannot run at all. */
export function begin(core: Core, conversation: Conversation, call: Call, refusal?: string): void {
  conversation.calls.set(call.id, call);
  const { tool } = call;
  if (refusal !== undefined) return refused(core, conversation, call, "error", refusal);
  if (!tool) return refused(core, conversation, call, "error", `There is no tool "${call.modelName}" in this request.`);
  const outcome = checkHere(tool.schema, call.input);
  if (outcome) return checked(core, conversation, call, tool, outcome);
  call.state = "checking";
  const by = tenantOf(conversation.scope);
  core.check({ by, schemas: [tool.schema.text], values: [call.input] }, (answer) => {
    // An interrupt may have ended it meanwhile.
    if (call.state === "checking" && conversation.calls.get(call.id) === call)
      checked(core, conversation, call, tool, answer);
  });
  core.settle(conversation);
}

/** Its arguments are checked: it runs, asks, or ends. */
function checked(core: Core, conversation: Conversation, call: Call, tool: Tool, outcome: Outcome): void {
  if (outcome.result === "wrong")
    return refused(core, conversation, call, "error", `The arguments do not fit the tool's schema. ${outcome.why}`);
  if (outcome.result === "unusable") {
    const why = `The arguments could not be checked, so it did not run: the schema of ${idOf(tool)}: ${outcome.why}`;
    return refused(core, conversation, call, "error", why);
  }
  decide(core, conversation, call, tool, run);
}

/** By the policy and the tool as they are now it runs (`go`), asks, or ends. */
function decide(core: Core, conversation: Conversation, call: Call, tool: Tool, go: typeof run): void {
  const server = servedBy(core, tool.componentId, conversation.scope);
  if (!server || !isCurrent(core, tool))
    return refused(core, conversation, call, "error", removed(call, "was offered"));
  const ruling = rulingOf(core, conversation, call, tool, server);
  if (ruling.decision === "deny") return refused(core, conversation, call, "denied", DENIED);
  if (ruling.decision === "allow") return go(core, conversation, call, server);
  const approval = approvalOf(core, conversation, tool, call.input, ruling);
  if (approval) {
    if (approval.by !== undefined) call.approvedBy = approval.by;
    return go(core, conversation, call, server);
  }
  const fields = { ...questionOf(idOf(tool), call.input, tool, ruling), call_id: call.id, ...askedBy(call) };
  try {
    mustHaveRoom(core, conversation);
  } catch (error) {
    return didNotRun(core, conversation, call, BytebotError.from(error));
  }
  call.state = "asking";
  open(core, conversation, { type: "approval", call }, fields);
}

function didNotRun(core: Core, conversation: Conversation, call: Call, why: BytebotError): void {
  refused(core, conversation, call, "error", `It did not run: ${why.message}.`, why.toWire());
}

const DENIED = "The policy of this app does not allow this call.";

function rulingOf(core: Core, { scope }: Conversation, call: Call, tool: Tool, server: Synced): Ruling {
  const { modelName, input } = call;
  return core.policy.decide({ tool, modelName, scope, input, askFirst: server.grant.askFirst });
}

/** Is this definition still the one that its component registered? */
function isCurrent(core: Core, tool: Tool): boolean {
  return core.tools.of(tool.componentId).some(({ hash }) => hash === tool.hash);
}

/** What the person said of a call, or that nobody said anything. */
interface Answered {
  choice: string;
  outcome: string;
  by: Answerer;
}

export function approvalGiven(core: Core, conversation: Conversation, call: Call, answered: Answered): void {
  // Where its question was cancelled, the call has ended with it, or before.
  if (call.state !== "asking") return;
  const { choice, outcome, by } = answered;
  const hash = call.held ? (call.held.hash ?? "") : call.tool!.hash;
  const why = outcome === "expired" ? "Nobody answered whether it may run." : "The person did not allow this call.";
  const yes = isYes(choice);
  if (yes) allowedBy(conversation, call, hash, choice, by);
  if (call.held) {
    // Asked by the Hub before this one: its tool may not be back yet.
    if (yes) call.held.approved = hash;
    else call.held.refusal = { status: "denied", why };
    call.state = "returning";
    return core.raise({ type: "call_returns", conversation, call });
  }
  if (yes) runApproved(core, conversation, call, call.tool!, hash);
  else refused(core, conversation, call, "denied", why);
}

/** Somebody has said yes: to this call, and where it is to bind longer, to every such call. */
export function allowedBy(
  conversation: Conversation,
  call: Call,
  hash: string,
  choice: Choice,
  { principal, until }: Answerer,
): void {
  const by = principal === undefined ? {} : { by: principal };
  if (principal !== undefined) call.approvedBy = principal;
  if (until === undefined) return;
  const below = choice === "remember" ? { below: true as const } : {};
  keepApproval(conversation, hash, call.input, { until, ...by, ...below });
}

/** Runs it, or leaves it queued until its tenant has room (rule QTA-2). */
function run(core: Core, conversation: Conversation, call: Call, server: Synced): void {
  if (core.tenants.enter(conversation, "call")) return runNow(core, conversation, call, server);
  call.state = "queued";
  core.settle(conversation);
}

/** Its conversation's turn has come: the first of its calls that wait runs, where it still may; the others wait again. */
export function runNext(core: Core, conversation: Conversation): void {
  const [first, second] = [...conversation.calls.values()].filter(({ state }) => state === "queued");
  if (!first) return;
  if (second) core.tenants.wait(conversation, "call");
  const { tool, approved } = first;
  if (approved === undefined) decide(core, conversation, first, tool!, runNow);
  else runApproved(core, conversation, first, tool!, approved, runNow);
}

function removed(call: Call, since: string): string {
  return `The tool "${call.modelName}" was removed or changed since it ${since}.`;
}

/** Logs the request, then sends it: nothing else executes anything. */
function runNow(core: Core, conversation: Conversation, call: Call, server: Synced): void {
  const { scope } = conversation;
  const tenant = tenantOf(scope);
  try {
    core.budgets.checkCall(tenant, core.now);
  } catch (error) {
    return didNotRun(core, conversation, call, BytebotError.from(error));
  }
  const timeout = call.tool?.definition.timeout_ms ?? core.limits.toolMs;
  call.deadline = core.now + timeout;
  const requested = {
    event_type: "bb_tool_call_request",
    call_id: call.id,
    name: call.name,
    input: call.input,
    scope,
    ...(call.loopId === undefined ? {} : { loop_id: call.loopId }),
    deadline_ts: call.deadline,
    ...askedBy(call),
    ...(call.approvedBy === undefined ? {} : { approved_by: call.approvedBy }),
    ...(isIdempotent(call)
      ? { idempotent: true, component_id: call.tool!.componentId, tool_hash: call.tool!.hash }
      : {}),
  };
  const request = core.append(scope, requested, core.budgets.spend(tenant, core.now, { calls: 1 }));
  dispatch(core, conversation, call, server, request);
  core.settle(conversation);
}

function dispatch(core: Core, conversation: Conversation, call: Call, server: Synced, request: Event): void {
  call.state = "running";
  call.to = server.id;
  core.expect(call.id, server.id, conversation.scope, "call");
  core.effect(conversation.scope, { type: "send", to: server.id, event: request });
  core.effect(conversation.scope, { type: "timer", key: `call:${call.id}`, at: call.deadline! });
}

function isIdempotent({ tool }: Call): boolean {
  return tool?.definition.annotations?.idempotent === true;
}

/** A toolsource is back: idempotent calls of its scopes that its lost link left open go out again, under the same `call_id`. */
export function resend(core: Core, server: Synced): void {
  for (const set of core.active.values()) {
    for (const conversation of set) {
      if (!mayTouch(server, conversation.scope)) continue;
      for (const call of conversation.calls.values()) {
        if (call.state !== "waiting" || call.tool?.componentId !== server.offer.componentId) continue;
        sendAgain(core, conversation, call, server);
      }
    }
  }
}

/** The same request as is in the log, with the time that is left for it; not where a policy denies it by now (rule POL-2). */
function sendAgain(core: Core, conversation: Conversation, call: Call, server: Synced): void {
  if (rulingOf(core, conversation, call, call.tool!, server).decision === "deny") return lost(core, conversation, call);
  const { id: call_id, name, input, deadline: deadline_ts, loopId } = call;
  dispatch(core, conversation, call, server, {
    ...{
      event_type: "bb_tool_call_request",
      call_id,
      name,
      input,
      scope: conversation.scope,
      deadline_ts,
      ts: core.now,
    },
    ...(loopId === undefined ? {} : { loop_id: loopId }),
  });
}

/** An idempotent call that the Hub before this one had sent goes out again, where its tool is there as it was (rule REC-4). */
export function goAgain(core: Core, conversation: Conversation, call: Call): void {
  const { componentId = "", hash } = call.held?.again ?? {};
  const tool = core.tools.of(componentId).find((each) => each.hash === hash);
  const server = servedBy(core, componentId, conversation.scope);
  if (!tool || !server) return;
  call.tool = tool;
  call.deadline = core.now + (tool.definition.timeout_ms ?? core.limits.toolMs);
  delete call.held;
  sendAgain(core, conversation, call, server);
}

/** What a person has approved runs, where it is still the tool that they saw, and no policy has denied it since. */
export function runApproved(
  core: Core,
  conversation: Conversation,
  call: Call,
  tool: Tool,
  hash: string,
  go: typeof run = run,
): void {
  const isAsSeen = tool.hash === hash && isCurrent(core, tool);
  const server = isAsSeen ? servedBy(core, tool.componentId, conversation.scope) : undefined;
  if (!server) return refused(core, conversation, call, "error", removed(call, "was asked for"));
  const { decision } = rulingOf(core, conversation, call, tool, server);
  if (decision === "deny") return refused(core, conversation, call, "denied", DENIED);
  call.approved = hash;
  go(core, conversation, call, server);
}

/** The owner's or the controller's wish for a call: the Hub decides and executes as for a model's. */
export function request(core: Core, connection: Synced, event: ToolCallRequest): void {
  const id = event.id;
  if (id === undefined)
    throw new BytebotError("invalid_params", "bb_tool_call_request needs an id: it is how the result is found");
  const conversation = core.conversation(event.scope);
  const most = core.limits.ownCalls;
  if ([...conversation.calls.values()].filter(({ loopId }) => loopId === undefined).length >= most) {
    forget(conversation, connection.offer.componentId, id);
    throw new BytebotError("overloaded", `${most} calls that were asked for are open in "${event.scope}"`, {
      retryable: true,
    });
  }
  const [modelName, tool] = findTool(core, event.scope, event.name) ?? [event.name, undefined];
  const call = newCall(core.newId("c"), tool, modelName, event.input ?? {});
  call.requester = asker(connection, id, event.principal);
  begin(core, conversation, call);
}
