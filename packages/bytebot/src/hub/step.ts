import {
  ackNameOf,
  as,
  BytebotError,
  isKnown,
  isScope,
  maySend,
  toReport,
  validate,
  type ContextRenderResult,
  type Event,
  type EventOf,
  type EventType,
  type InferChunk,
} from "../wire/index.ts";
import { chunk, missed } from "./turn/blocks.ts";
import { countFault, mustHaveRate, stray } from "./tenants/admission.ts";
import * as calls from "./tools/calls.ts";
import * as connections from "./connections.ts";
import * as conversations from "./conversations/conversations.ts";
import type { Core } from "./core.ts";
import type { Batch, ConnectionId } from "./effects.ts";
import { isController, mayTouch } from "./grants.ts";
import { giveUp } from "./cells/given-up.ts";
import { goOn } from "./go-on.ts";
import { turnRequest, userEvent } from "./turn/input.ts";
import { interrupt, logged } from "./turn/interrupt.ts";
import { arrive, joined } from "./readers/join.ts";
import { timer } from "./deadlines.ts";
import { Policy } from "./tools/policy.ts";
import { withPrincipal } from "./principals.ts";
import * as questions from "./tools/questions.ts";
import { restore, resumeWithin, unload } from "./recovery/resume.ts";
import * as replies from "./tools/replies.ts";
import * as results from "./tools/results.ts";
import type { StepInput } from "./step-input.ts";
import type { Outcome } from "./tools/schema.ts";
import { seenBefore } from "./seen.ts";
import type { Conversation, New, Synced, Turn } from "./state.ts";
import { register } from "./tools/tools.ts";
import { snapshot } from "./cells/snapshot.ts";
import { finish, inferred, rendered } from "./turn/turn.ts";

/** The pure core: one input at one time, and what follows from it. */
export function step(core: Core, now: number, input: StepInput): Batch[] {
  return core.take(
    now,
    () => begin(core, input),
    (happened) => goOn(core, happened),
  );
}

function begin(core: Core, input: StepInput): void {
  switch (input.type) {
    case "opened":
      return connections.opened(core, input.connection, input.offer);
    case "event":
      return receive(core, input.connection, input.event);
    case "refused":
      return refuse(core, input.connection, input.error, input.event);
    case "closed":
      return connections.closed(core, input.connection, input.reason);
    case "joined":
      return joined(core, input.connection, input.cell);
    case "caught_up":
      return arrive(core, input.connection, input.through);
    case "base":
      return snapshot(core, input.cell);
    case "restore":
      return restore(core, input.conversations);
    case "spent":
      return core.budgets.recall(input.tenant, input.spent);
    case "restarted":
      return core.comesBack();
    case "resume":
      return resumeWithin(core, input.scope, input.how);
    case "logged":
      return logged(core, input.wide);
    case "unload":
      return unload(core, input.cell);
    case "rested":
      return core.rested(input.cell);
    case "log_failed":
      return giveUp(core, input.cell, input.lost, input.error);
    case "timer":
      return timer(core, input.key);
    case "forget":
      return core.forget(input.componentId);
    case "stray":
      return stray(core, input.connection, input.error);
    case "checked":
      return checked(core, input.id, input.outcome);
    case "forked":
      return conversations.forked(core, input.connection, input.event, input.conversation);
  }
}

/** The schemas' thread has answered: whoever waited for it goes on. */
function checked(core: Core, id: string, outcome: Outcome): void {
  const checking = core.checks.get(id);
  core.checks.delete(id);
  try {
    checking?.goOn(outcome);
  } catch (error) {
    if (!(error instanceof BytebotError)) core.effect(undefined, { type: "fault", error });
    const of = checking?.of;
    if (of && core.connections.has(of.connection)) refuse(core, of.connection, BytebotError.from(error), of.event);
  }
}

/** One event from one connection. What is wrong with it goes back to its sender as `bb_error`; the link goes on (rule ERR-2). */
function receive(core: Core, id: ConnectionId, event: Event): void {
  const connection = core.connections.get(id);
  if (!connection || connection.deaf) return;
  try {
    if (connection.state === "new") firstEvent(core, connection, event);
    else {
      route(core, connection, event);
      acknowledge(core, connection, event);
    }
  } catch (error) {
    if (!(error instanceof BytebotError)) core.effect(undefined, { type: "fault", error });
    refuse(core, id, BytebotError.from(error), event);
    if (event["kind"] === "block_delta" || event["kind"] === "block_stop") missed(core, id, event);
    if (connection.state === "new" && event.event_type === "bb_sync") {
      core.effect(undefined, { type: "close", to: id, reason: BytebotError.from(error).message });
    }
  }
}

/** What a refusal names as what it answers (rule ERR-2). */
function nameOf(event: Event): unknown {
  return event["id"] ?? event["in_reply_to"] ?? event["call_id"];
}

/** Tells the sender, and whoever waits for it to be ready where that depended on it (rule CON-11). */
function refuse(core: Core, id: ConnectionId, error: BytebotError, event: Event): void {
  core.refuse(id, error, nameOf(event));
  const connection = core.connections.get(id);
  if (connection) countFault(core, connection, error);
  if (event.event_type === "bb_tool_register") core.effect(undefined, { type: "not_ready", to: id, error });
}

function firstEvent(core: Core, connection: New, event: Event): void {
  if (event.event_type !== "bb_sync") {
    throw new BytebotError(
      "not_synced",
      `${event.event_type} came before bb_sync: the first event says what the satellite is`,
    );
  }
  connections.sync(core, connection, as("bb_sync", event));
}

/** What the core acknowledges itself, when it is durable. */
const ACKNOWLEDGED_LATER = new Set(["user_event", "interrupt", "input_reply"]);

/** To a peer that acknowledges and wants to be acknowledged: the event came (rule HTP-10). */
function acknowledge(core: Core, connection: Synced, event: Event): void {
  if (!connection.grant.capabilities["acks"] || ACKNOWLEDGED_LATER.has(event.event_type)) return;
  const name = ackNameOf(event);
  if (name !== undefined) core.send(undefined, connection.id, { event_type: "bb_ack", in_reply_to: name });
}

/** Table, schema and scope, in this order; then the one place that its type belongs to. */
function route(core: Core, connection: Synced, sent: Event): void {
  const type = sent.event_type;
  const { grant } = connection;
  if (!isKnown(type) && type.startsWith("bb_")) validate(sent);
  if (type === "bb_sync")
    throw new BytebotError("conflict", "bb_sync came twice: it is the first event of a connection");
  const permission = maySend(grant.kind, isController(grant, type), type);
  if (permission !== "allowed") throw notAllowed(permission, grant.kind, type);
  if (OF_THE_APP.has(type) && !grant.scopes.includes("*"))
    throw new BytebotError(
      "forbidden",
      `${type} is about all of the app, and this connection is for some scopes of it`,
    );
  try {
    validate(sent);
  } catch (error) {
    if (type === "bb_context_render_result" || type === "bb_infer_result")
      unusable(core, connection, sent, BytebotError.from(error));
    throw error;
  }
  const event = withPrincipal(connection, unstamped(sent));
  const scope = event["scope"];
  if (scope !== undefined && !isScope(scope))
    throw new BytebotError("invalid_event", `"scope": ${JSON.stringify(scope).slice(0, 80)} is no scope`);
  mustHaveRate(core, connection, event);
  if (typeof scope === "string" && !mayTouch(connection, scope)) {
    core.effect(undefined, {
      type: "observe",
      event: {
        event_type: "bb_error",
        code: "not_found",
        message: "refused at the wall",
        from: connection.offer.componentId,
        type,
      },
    });
    throw new BytebotError("not_found", `no scope "${scope}"`);
  }
  if (!isKnown(type)) return vendor(core, connection, event);
  if (SEEN_COMING.has(type))
    core.effect(undefined, { type: "observe", event: { ...event, from: connection.offer.componentId, ts: core.now } });
  deliver(core, connection, event);
}

/** A render that nobody can read is answered all the same: its turn ends now, not when the time for it is up (rule CNV-2). */
function unusable(core: Core, connection: Synced, event: Event, error: BytebotError): void {
  const pending = core.pending.get(String(event["in_reply_to"]));
  const conversation = pending?.to === connection.id ? core.conversations.get(pending.scope) : undefined;
  const turn = conversation?.turn;
  if (!conversation || !turn) return;
  const why = { code: "invalid_params", message: error.message, retryable: false };
  if (turn.phase.step === "rendering") finish(core, conversation, turn, "error", why);
  else if (turn.phase.step === "inferring") {
    const failed = {
      event_type: "bb_infer_result" as const,
      in_reply_to: turn.phase.request,
      success: false,
      error: why,
    };
    inferred(core, conversation, turn, turn.phase, failed);
  }
}

/** Requests that are neither logged nor sent on as they came: telemetry sees them here. */
const SEEN_COMING = new Set(
  (
    "bb_tool_register bb_input_request input_reply bb_turn_request bb_history_request bb_conversations bb_rename " +
    "bb_fork bb_delete bb_attach bb_detach bb_policy bb_components bb_token"
  ).split(" "),
);

/** These concern every tenant, so that a controller of some scopes may not send them (rule CON-12). */
const OF_THE_APP = new Set(["bb_attach", "bb_detach", "bb_policy", "bb_components"]);

function notAllowed(permission: "forbidden" | "not_authority", kind: string, type: string): BytebotError {
  if (permission === "not_authority") return new BytebotError("not_authority", `only the Hub sends ${type}`);
  return new BytebotError("forbidden", `a ${kind} may not send ${type}`);
}

/** What only the Hub may say of an event is dropped when somebody else wrote it (rule ENV-6). */
function unstamped(event: Event): Event {
  if (!("seq" in event || "cursor" in event || "ts" in event || "from" in event || "observed" in event)) return event;
  const { seq: _, cursor: __, ts: ___, from: ____, observed: _____, ...rest } = event;
  return rest as Event;
}

/** A type that is none of ours passes live, unlogged, to the scope's UIs and telemetry (rule ENV-8). */
function vendor(core: Core, connection: Synced, event: Event): void {
  const scope = event["scope"];
  if (typeof scope !== "string")
    throw new BytebotError(
      "invalid_event",
      `${event.event_type} has no scope: every event but the connection's own has one`,
    );
  const shown = { ...event, from: connection.offer.componentId, ts: core.now };
  core.effect(scope, { type: "publish", event: shown });
}

function deliver(core: Core, connection: Synced, event: Event): void {
  switch (event.event_type) {
    case "infer_chunk": {
      const at = inTurn(core, connection, event);
      if (!at || at.turn.phase.step !== "inferring") return;
      at.turn.phase.heard = core.now;
      return chunk(core, at.conversation, at.turn, at.turn.phase, event as InferChunk);
    }
    case "bb_infer_result": {
      const at = inTurn(core, connection, event);
      if (at?.turn.phase.step === "inferring")
        inferred(core, at.conversation, at.turn, at.turn.phase, typed("bb_infer_result", event));
      return;
    }
    case "bb_context_render_result": {
      const at = inTurn(core, connection, event);
      if (at?.turn.phase.step !== "rendering") return;
      const { scope } = at.conversation;
      core.effect(scope, {
        type: "observe",
        event: { ...event, scope, from: connection.offer.componentId, ts: core.now },
      });
      core.drop(at.turn.phase.request);
      const result = event as unknown as ContextRenderResult;
      return rendered(core, at.conversation, at.turn, at.turn.phase, result);
    }
    case "user_event":
      return userEvent(core, connection, typed("user_event", event));
    case "interrupt":
      return interrupt(core, connection, typed("interrupt", event));
    case "input_reply":
      return replies.answer(core, connection, typed("input_reply", event));
    case "bb_input_request":
      return questions.ask(core, connection, typed("bb_input_request", event));
    case "bb_tool_register":
      return register(core, connection, typed("bb_tool_register", event));
    case "bb_tool_call_result":
      if (!late(core, connection, event, event["call_id"]))
        results.result(core, connection, typed("bb_tool_call_result", event));
      return;
    case "bb_tool_progress":
      if (!late(core, connection, event, event["call_id"]))
        results.progress(core, connection, typed("bb_tool_progress", event));
      return;
    case "bb_tool_call_request": {
      const request = typed("bb_tool_call_request", event);
      if (seenBefore(core, core.conversation(request.scope), connection, event)) return;
      return calls.request(core, connection, request);
    }
    case "bb_turn_request":
      return turnRequest(core, connection, typed("bb_turn_request", event));
    case "bb_policy":
      core.policy = new Policy(typed("bb_policy", event).rules);
      return core.send(undefined, connection.id, {
        event_type: "bb_policy_result",
        in_reply_to: String(event["id"]),
        success: true,
      });
    case "bb_components":
      return core.send(undefined, connection.id, connections.components(core, String(event["id"])));
    case "bb_attach":
    case "bb_detach":
    case "bb_token":
      return core.effect(undefined, { type: "control", to: connection.id, event });
    case "bb_conversations":
    case "bb_rename":
    case "bb_fork":
    case "bb_delete":
      return conversations.receive(core, connection, event);
    case "bb_history_request":
      return core.effect(String(event["scope"]), { type: "history", to: connection.id, event });
    case "bb_ping":
      return core.send(undefined, connection.id, {
        event_type: "bb_pong",
        ...(event["id"] === undefined ? {} : { in_reply_to: event["id"] }),
      });
    case "bb_bye":
      return core.effect(undefined, {
        type: "close",
        to: connection.id,
        reason: `it said bye: ${toReport(String(event["reason"]))}`,
        bye: true,
      });
    case "bb_error":
      core.effect(undefined, { type: "observe", event: { ...event, from: connection.offer.componentId } });
      return core.effect(undefined, { type: "blob", from: connection.id, event });
    case "bb_blob":
      return core.effect(undefined, { type: "blob", from: connection.id, event });
    default:
      return; // bb_ack and bb_pong ask for nothing
  }
}

/** `route` has checked it against its schema. */
function typed<Type extends EventType>(_type: Type, event: Event): EventOf<Type> {
  return event as EventOf<Type>;
}

/** The turn whose open request this answers. Undefined: it came too late, and is for the audit only. */
function inTurn(core: Core, connection: Synced, event: Event): { conversation: Conversation; turn: Turn } | undefined {
  const request = event["in_reply_to"] as string;
  const pending = core.pending.get(request);
  if (pending?.to === connection.id) {
    const conversation = core.conversations.get(pending.scope);
    if (event["scope"] !== undefined && event["scope"] !== pending.scope) {
      throw anotherScope(event);
    }
    if (conversation?.turn) return { conversation, turn: conversation.turn };
  }
  if (late(core, connection, event, request)) return undefined;
  throw new BytebotError(
    "not_found",
    `${event.event_type}: no open request "${request}" at this connection; in_reply_to is the id of the request`,
  );
}

function anotherScope({ event_type }: Event): BytebotError {
  return new BytebotError("invalid_event", `${event_type} names another scope than the request it answers`);
}

/** Its request has ended without it: it is for the audit only (rule ENV-4). */
function late(core: Core, connection: Synced, event: Event, request: unknown): boolean {
  const id = String(request);
  const scope = core.pending.has(id) ? undefined : connection.ended.get(id);
  if (scope === undefined) return false;
  if (event["scope"] !== undefined && event["scope"] !== scope) throw anotherScope(event);
  const seen = { ...event, scope, from: connection.offer.componentId, ts: core.now };
  core.effect(undefined, { type: "observe", event: seen });
  return true;
}
