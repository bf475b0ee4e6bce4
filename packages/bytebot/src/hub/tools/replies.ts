import { BytebotError, tenantOf, type InputReply } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import { approversOf, isEntitled } from "./approvals.ts";
import { resolve } from "./questions.ts";
import { checkHere, type Outcome } from "./schema.ts";
import type { Conversation, Question, Synced } from "../state.ts";

/** Answers of one question that may wait for the check of another. */
const MAX_WAITING = 100;

/** The first valid answer wins; an invalid one is refused and the question stays open (rules QUE-3 and QUE-4). */
export function answer(core: Core, connection: Synced, reply: InputReply): void {
  if (!connection.grant.inputCapable) throw new BytebotError("forbidden", "this connection may not answer questions");
  const { conversation, question } = find(core, connection, reply.in_reply_to);
  if (!isEntitled(approversOf(question), reply.principal)) throw notEntitled(reply.principal);
  if (!question.checking) return take(core, conversation, question, connection.id, reply);
  if (question.checking.length >= MAX_WAITING)
    throw new BytebotError("overloaded", `${MAX_WAITING} answers to it wait to be checked`, { retryable: true });
  question.checking.push({ connection: connection.id, reply });
}

function find(core: Core, connection: Synced, id: string): { conversation: Conversation; question: Question } {
  const conversation = core.questions.get(id);
  const question = conversation?.questions.get(id);
  if (!conversation || !question || !mayTouch(connection, conversation.scope)) throw notOpen(id);
  return { conversation, question };
}

/** It says who asked, not who may: that is for the app to tell. */
function notEntitled(principal: string | undefined): BytebotError {
  const who = principal === undefined ? "it is not known who answers" : `"${principal}" is not among those who may`;
  return new BytebotError("forbidden", `the policy says who may answer this, and ${who}; the question stays open`);
}

function notOpen(id: string): BytebotError {
  return new BytebotError("not_found", `no open question "${id}"`);
}

function take(core: Core, conversation: Conversation, question: Question, from: ConnectionId, reply: InputReply): void {
  if (reply.outcome !== "accepted") return settle(core, conversation, question, from, reply, "declined");
  const { options } = question.event as { options?: string[] };
  if (options && !options.includes(reply.value as string)) {
    throw new BytebotError("invalid_params", `the answer is none of: ${options.join(", ")}; the question stays open`);
  }
  const { schema } = question;
  const value = reply.value ?? null;
  const outcome: Outcome | undefined = schema ? checkHere(schema, value) : { result: "fits" };
  if (outcome) return judge(core, conversation, question, from, reply, outcome);
  question.checking = [];
  core.check({ by: tenantOf(conversation.scope), schemas: [schema!.text], values: [value] }, (checked) =>
    goOn(core, conversation, question, { connection: from, reply }, checked),
  );
}

/** One answer is checked: those that waited for it come next, in their order. */
function goOn(
  core: Core,
  conversation: Conversation,
  question: Question,
  first: { connection: ConnectionId; reply: InputReply },
  outcome: Outcome,
): void {
  const waiting = question.checking ?? [];
  question.checking = undefined;
  const isOpen = (): boolean => conversation.questions.get(question.id) === question;
  let checked: Outcome | undefined = outcome;
  for (const [index, { connection, reply }] of [first, ...waiting].entries()) {
    try {
      if (!isOpen()) throw notOpen(question.id);
      if (checked) judge(core, conversation, question, connection, reply, checked);
      else take(core, conversation, question, connection, reply);
    } catch (error) {
      const told = core.connections.has(connection);
      if (told) core.refuse(connection, BytebotError.from(error), reply.id ?? reply.in_reply_to);
    }
    checked = undefined;
    // This one is being checked in its turn: the others wait again.
    const again = question.checking as Question["checking"];
    if (again && isOpen()) return void again.push(...waiting.slice(index));
  }
}

function judge(
  core: Core,
  conversation: Conversation,
  question: Question,
  from: ConnectionId,
  reply: InputReply,
  outcome: Outcome,
): void {
  if (outcome.result !== "fits") throw new BytebotError("invalid_params", `${outcome.why}; the question stays open`);
  settle(core, conversation, question, from, reply, "accepted");
}

function settle(
  core: Core,
  conversation: Conversation,
  question: Question,
  from: ConnectionId,
  reply: InputReply,
  ending: "accepted" | "declined",
): void {
  const component = core.connections.get(from)?.offer.componentId;
  const by = { component, principal: reply.principal, until: reply.expires_at };
  resolve(core, conversation, question, ending, ending === "accepted" ? reply.value : undefined, by);
  core.effect(conversation.scope, { type: "ack", to: from, inReplyTo: reply.id ?? reply.in_reply_to });
}
