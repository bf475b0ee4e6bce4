import { BytebotError, type Event, type InputReply, type InputRequest } from "../wire/index.ts";
import type { Core } from "./core.ts";
import { mayTouch } from "./grants.ts";
import { forget, reply, seenBefore } from "./seen.ts";
import type { Call, Conversation, Question, Synced } from "./state.ts";
import { schemaCheck } from "./tools.ts";

type Outcome = "accepted" | "declined" | "cancelled" | "expired";

/** A component asks the person of its scope (rules QUE-1 to QUE-6). */
export function ask(core: Core, connection: Synced, event: InputRequest): void {
  const call = event.call_id === undefined ? undefined : findCall(core, connection, event.call_id);
  if (event.call_id !== undefined && !call)
    throw new BytebotError("not_found", `no open call "${event.call_id}" of this component`);
  if (connection.grant.kind === "toolsource" && !call) {
    throw new BytebotError("invalid_params", "a toolsource asks within a call: name its call_id");
  }
  const scope = call?.conversation.scope ?? event.scope;
  if (scope === undefined) throw new BytebotError("invalid_params", "the question has no scope: name one");
  if (event.schema) schemaCheck(event.schema, "the question");
  const conversation = core.conversation(scope);
  if (conversation.questions.size >= core.limits.questions) {
    throw new BytebotError("overloaded", `${core.limits.questions} questions are open in "${scope}"`, {
      retryable: true,
    });
  }
  if (seenBefore(core, conversation, connection, event)) return;
  const of = { connection: connection.id, component: connection.offer.componentId, request: event.id };
  const asker: Question["asker"] = call ? { type: "call", ...of, call: call.call } : { type: "context", ...of };
  const { prompt, schema, options, expires_at, call_id } = event;
  const fields = { prompt, schema, options, call_id };
  open(core, conversation, asker, fields, expires_at);
}

/** Opens a question at every input-capable UI of the scope; nobody there to answer means it has expired. */
export function open(
  core: Core,
  conversation: Conversation,
  asker: Question["asker"],
  fields: Record<string, unknown>,
  expiresAt?: number,
): void {
  const { scope } = conversation;
  const expires = Math.min(expiresAt ?? Infinity, core.now + core.limits.questionMs);
  const event: Event = { event_type: "input_strict", id: core.newId("q"), scope, expires_at: expires };
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) event[field] = value;
  const question: Question = { id: String(event["id"]), event, asker };
  conversation.questions.set(question.id, question);
  core.questions.set(question.id, conversation);
  core.append(scope, event);
  if (asker.type === "call") pauseClock(core, asker.call);
  const somebody = core.uis.some((ui) => mayAnswer(ui) && mayTouch(ui, scope));
  if (!somebody) return resolve(core, conversation, question, "expired");
  core.effect(scope, { type: "timer", key: `question:${question.id}`, at: expires });
  core.settle(conversation);
}

/** It may answer, and it asked to see questions. */
function mayAnswer({ grant }: Synced): boolean {
  return grant.inputCapable && (grant.types?.has("input_strict") ?? true);
}

/** The first valid answer wins; an invalid one is refused and the question stays open. */
export function answer(core: Core, connection: Synced, event: InputReply): void {
  if (!connection.grant.inputCapable) throw new BytebotError("forbidden", "this connection may not answer questions");
  const found = findQuestion(core, connection, event.in_reply_to);
  if (!found) throw new BytebotError("not_found", `no open question "${event.in_reply_to}"`);
  const { conversation, question } = found;
  const accepted = event.outcome === "accepted";
  if (accepted) checkValue(question, event.value);
  const value = accepted ? event.value : undefined;
  resolve(core, conversation, question, accepted ? "accepted" : "declined", value, connection.offer.componentId);
  core.effect(conversation.scope, { type: "ack", to: connection.id, inReplyTo: event.id ?? event.in_reply_to });
}

function checkValue(question: Question, value: unknown): void {
  const { schema, options } = question.event as { schema?: Record<string, unknown>; options?: string[] };
  if (options && !options.includes(value as string)) {
    throw new BytebotError("invalid_params", `the answer is none of: ${options.join(", ")}; the question stays open`);
  }
  const wrong = schema && schemaCheck(schema, "the question")(value);
  if (wrong) throw new BytebotError("invalid_params", `${wrong}; the question stays open`);
}

/** Ends a question: everyone is told, and its asker answered. */
export function resolve(
  core: Core,
  conversation: Conversation,
  question: Question,
  outcome: Outcome,
  value?: unknown,
  by?: string,
): void {
  const { scope } = conversation;
  conversation.questions.delete(question.id);
  core.questions.delete(question.id);
  core.effect(scope, { type: "clear", key: `question:${question.id}` });
  core.append(scope, {
    event_type: "input_resolved",
    id: question.id,
    scope,
    outcome,
    ...(by === undefined ? {} : { by }),
  });
  const { asker } = question;
  if (asker.type === "approval") {
    const choice = outcome === "accepted" ? String(value) : "deny";
    core.raise({ type: "approval_answered", conversation, call: asker.call, choice, outcome });
  } else {
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

function notAnswered(outcome: Outcome): Record<string, unknown> {
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

function findQuestion(
  core: Core,
  connection: Synced,
  id: string,
): { conversation: Conversation; question: Question } | undefined {
  const conversation = core.questions.get(id);
  const question = conversation?.questions.get(id);
  if (!conversation || !question || !mayTouch(connection, conversation.scope)) return undefined;
  return { conversation, question };
}

/** A call's own time stands still while a person thinks. */
function pauseClock(core: Core, call: Call): void {
  if (call.deadline === undefined) return;
  call.left = call.deadline - core.now;
  call.deadline = undefined;
  core.effect(undefined, { type: "clear", key: `call:${call.id}` });
}

function resumeClock(core: Core, conversation: Conversation, call: Call): void {
  const another = [...conversation.questions.values()].some(
    (question) => question.asker.type === "call" && question.asker.call === call,
  );
  if (another || call.state !== "running" || call.deadline !== undefined) return;
  call.deadline = core.now + call.left;
  core.effect(conversation.scope, { type: "timer", key: `call:${call.id}`, at: call.deadline });
}
