import { BytebotError, tenantOf, type Event, type InputRequest } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { approversOf, bindsUntil, isEntitled } from "./approvals.ts";
import { toSchema, unusable, type Schema } from "./schema.ts";
import { forget, reply, seenBefore } from "../seen.ts";
import type { Answerer, Call, Conversation, Question, Synced } from "../state.ts";

export type Ending = "accepted" | "declined" | "cancelled" | "expired";

/** A component asks the person of its scope; a schema that may take long is tried first (rules QUE-1 to QUE-6). */
export function ask(core: Core, connection: Synced, event: InputRequest): void {
  const conversation = core.conversation(placeOf(core, connection, event).scope);
  mustHaveRoom(core, conversation);
  const schema = event.schema && toSchema(event.schema, "the question");
  if (seenBefore(core, conversation, connection, event)) return;
  if (!schema || schema.plain) return pose(core, connection, event, schema);
  const of = { connection: connection.id, event };
  const orForget = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      forget(conversation, connection.offer.componentId, event.id);
      core.refusedIn(conversation);
      throw error;
    }
  };
  orForget(() =>
    core.check({ by: tenantOf(conversation.scope), schemas: [schema.text], of }, (outcome) =>
      orForget(() => {
        if (!core.synced(connection.id)) throw new BytebotError("cancelled", "whoever asked is gone");
        if (outcome.result === "unusable") throw unusable("the question", outcome.why);
        pose(core, connection, event, schema);
      }),
    ),
  );
}

function placeOf(core: Core, connection: Synced, event: InputRequest): { scope: string; call: Call | undefined } {
  const found = event.call_id === undefined ? undefined : findCall(core, connection, event.call_id);
  if (event.call_id !== undefined && !found)
    throw new BytebotError("not_found", `no open call "${event.call_id}" of this component`);
  if (connection.grant.kind === "toolsource" && !found) {
    throw new BytebotError("invalid_params", "a toolsource asks within a call: name its call_id");
  }
  const scope = found?.conversation.scope ?? event.scope;
  if (scope === undefined) throw new BytebotError("invalid_params", "the question has no scope: name one");
  return { scope, call: found?.call };
}

/** Throws `overloaded` where as many questions are open in this conversation as may be (rule QUE-1). */
export function mustHaveRoom(core: Core, { scope, questions }: Conversation): void {
  if (questions.size < core.limits.questions) return;
  throw new BytebotError("overloaded", `${core.limits.questions} questions are open in "${scope}"`, {
    retryable: true,
  });
}

function pose(core: Core, connection: Synced, event: InputRequest, schema: Schema | undefined): void {
  const { scope, call } = placeOf(core, connection, event);
  // While its schema was checked the log may have failed, and the conversation with it.
  const conversation = core.conversations.get(scope);
  if (!conversation)
    throw new BytebotError("unavailable", `the conversation "${scope}" was given up: ask again`, { retryable: true });
  mustHaveRoom(core, conversation);
  const of = { connection: connection.id, component: connection.offer.componentId, request: event.id };
  const asker: Question["asker"] = call ? { type: "call", ...of, call } : { type: "context", ...of };
  const { prompt, options, expires_at, call_id } = event;
  open(core, conversation, asker, { prompt, schema: event.schema, options, call_id }, expires_at, schema);
}

/** Opens a question at every input-capable UI of the scope; nobody there to answer means it has expired. */
export function open(
  core: Core,
  conversation: Conversation,
  asker: Question["asker"],
  fields: Record<string, unknown>,
  expiresAt?: number,
  schema?: Schema,
): void {
  const { scope } = conversation;
  const expires = Math.min(expiresAt ?? Infinity, core.now + core.limits.questionMs);
  const event: Event = { event_type: "input_strict", id: core.newId("q"), scope, expires_at: expires };
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) event[field] = value;
  const question: Question = { id: String(event["id"]), event, schema, checking: undefined, asker };
  conversation.questions.set(question.id, question);
  core.questions.set(question.id, conversation);
  core.append(scope, event);
  if (asker.type === "call") pauseClock(core, asker.call);
  if (!core.connected.someUi(scope, (ui) => mayAnswer(ui, question)))
    return resolve(core, conversation, question, "expired");
  core.effect(scope, { type: "timer", key: `question:${question.id}`, at: expires });
  core.settle(conversation);
}

/** It may answer, it asked to see questions, and a person whose answer counts may be there. */
function mayAnswer({ grant }: Synced, question: Question): boolean {
  const { inputCapable, types, vouches, principal } = grant;
  if (!inputCapable || types?.has("input_strict") === false) return false;
  return vouches || isEntitled(approversOf(question), principal);
}

/** Ends a question: everyone is told, and its asker answered. */
export function resolve(
  core: Core,
  conversation: Conversation,
  question: Question,
  outcome: Ending,
  value?: unknown,
  by: Answerer = {},
): void {
  const { scope } = conversation;
  conversation.questions.delete(question.id);
  core.questions.delete(question.id);
  core.effect(scope, { type: "clear", key: `question:${question.id}` });
  const { asker } = question;
  const choice = asker.type === "approval" ? choiceOf(outcome, value) : undefined;
  const until = choice === undefined ? undefined : bindsUntil(core, question, choice, by.until);
  core.append(scope, {
    event_type: "input_resolved",
    id: question.id,
    scope,
    outcome,
    ...(by.component === undefined ? {} : { by: by.component }),
    ...(by.principal === undefined ? {} : { principal: by.principal }),
    ...(choice === undefined ? {} : { choice }),
    ...(until === undefined ? {} : { expires_at: until }),
  });
  if (asker.type === "approval") {
    const answered = { choice: choice!, outcome, by: { ...by, until } };
    core.raise({ type: "approval_answered", conversation, call: asker.call, ...answered });
  } else if (asker.type !== "gone") {
    if (asker.type === "call") resumeClock(core, conversation, asker.call);
    const answer = {
      event_type: "bb_input_result",
      in_reply_to: asker.request,
      scope,
      success: outcome === "accepted",
      outcome,
      ...(value === undefined ? {} : { value }),
      ...(outcome === "accepted" ? {} : { error: notAnswered(outcome) }),
    };
    reply(core, conversation, { connection: asker.connection, component: asker.component, id: asker.request }, answer);
    // Its link was lost, not its wish: back again, it may ask the same.
    if (outcome === "cancelled" && !core.synced(asker.connection)) forget(conversation, asker.component, asker.request);
  }
  core.settle(conversation);
}

/** What the person decided of a call: logged, so that it holds after a restart too (rule REC-5). */
function choiceOf(outcome: Ending, value: unknown): string {
  return outcome === "accepted" ? String(value) : "deny";
}

function notAnswered(outcome: Ending): Record<string, unknown> {
  return { code: "cancelled", message: `the question was ${outcome}`, retryable: false };
}

/** A question's deadline passed. */
export function expired(core: Core, id: string): void {
  const conversation = core.questions.get(id);
  const question = conversation?.questions.get(id);
  if (conversation && question) resolve(core, conversation, question, "expired");
}

/** A call has ended, or its turn: what it asked is no longer of use. */
export function cancelQuestions(core: Core, conversation: Conversation, of: (question: Question) => boolean): void {
  for (const question of [...conversation.questions.values()]) {
    if (of(question)) resolve(core, conversation, question, "cancelled");
  }
}

function findCall(core: Core, connection: Synced, id: string): { conversation: Conversation; call: Call } | undefined {
  const pending = core.pending.get(id);
  if (pending?.to !== connection.id || pending.kind !== "call") return undefined;
  const conversation = core.conversations.get(pending.scope);
  const call = conversation?.calls.get(id);
  return conversation && call ? { conversation, call } : undefined;
}

/** A call's own time stands still while a person thinks. */
function pauseClock(core: Core, call: Call): void {
  core.rest(call.id, 1);
  if (call.deadline === undefined) return;
  call.left = call.deadline - core.now;
  call.deadline = undefined;
  core.effect(undefined, { type: "clear", key: `call:${call.id}` });
}

function resumeClock(core: Core, conversation: Conversation, call: Call): void {
  core.rest(call.id, -1);
  const another = [...conversation.questions.values()].some(
    (question) => question.asker.type === "call" && question.asker.call === call,
  );
  if (another || call.state !== "running" || call.deadline !== undefined) return;
  call.deadline = core.now + call.left;
  core.effect(conversation.scope, { type: "timer", key: `call:${call.id}`, at: call.deadline });
}
