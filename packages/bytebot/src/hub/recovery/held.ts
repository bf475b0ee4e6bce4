import type { About } from "../../log/index.ts";
import type { Block, Event, Message, StopReason, WireError } from "../../wire/index.ts";
import { newConversation, newTurn } from "../conversation.ts";
import type { Effect } from "../effects.ts";
import { hashOf, recallSeen } from "../seen.ts";
import { copyMessages } from "../turn/history.ts";
import { contentOf } from "../turn/input.ts";
import type {
  Approval,
  Asker,
  Call,
  CallStatus,
  Conversation,
  Held,
  HeldCall,
  Input,
  Question,
  Seen,
  Turn,
} from "../state.ts";

/** A turn of which the log has not said anything yet but its input. */
export function held(): Held {
  return { step: "held", at: "asking", request: "", blocks: [], calls: [], due: [], end: undefined };
}

/** What the log's `bb_state` keeps of a conversation, as JSON: all that a restart needs, and nothing of who is connected. */
interface State {
  /** Absent where the `bb_snapshot` of the same entry has them all. */
  messages?: readonly Message[];
  about?: About;
  queue: HeldInput[];
  turn?: HeldTurn;
  /** Those of an owner; those of a turn are in it. */
  calls: StoredCall[];
  /** With their place, which they have by the time that this is logged; `lost`: with whoever asked. */
  questions: { event: Event; lost?: true }[];
  /** The answers given for the whole conversation, and until when. */
  approved: [key: string, approval: Approval][];
  /** But for open questions, and interrupts on their way: who asks one again after a restart asks anew. */
  seen: [component: string, id: string, seen: Seen][];
}

interface HeldInput {
  id: string;
  event: Event;
  returning?: true;
  requester?: StoredAsker & { callId?: string };
}

interface HeldTurn extends Pick<Turn, "loopId" | "round" | "attempt" | "calls" | "lastCall" | "sameCalls"> {
  /** Absent in a log of an older version. */
  tokens?: number;
  input: HeldInput;
  steers: HeldInput[];
  stopping?: string;
  at: Held["at"];
  request?: string;
  blocks: [index: number, block: Block][];
  asked: StoredCall[];
  due: HeldInput[];
  end?: { stopReason: StopReason; error?: WireError };
}

interface StoredCall extends Omit<HeldCall, "goes"> {
  id: string;
  name: string;
  modelName: string;
  input?: unknown;
  loopId?: string;
  asking?: true;
  status?: CallStatus;
  content?: Block[];
  requester?: StoredAsker;
  approvedBy?: string;
}

type StoredAsker = Pick<Asker, "component" | "id" | "principal">;

/** The conversation as the log keeps it from here on (rule REC-6). `withMessages`: they stand nowhere else. */
export function toState(conversation: Conversation, withMessages: boolean): State {
  const { messages, about, queue, turn, calls, questions, approved, seen } = conversation;
  const own = [...calls.values()].filter(({ loopId }) => loopId === undefined);
  return {
    ...(withMessages ? { messages: copyMessages(messages) } : {}),
    ...(about ? { about } : {}),
    queue: queue.map(fromInput),
    ...(turn ? { turn: fromTurn(turn) } : {}),
    calls: own.map(fromCall),
    questions: [...questions.values()].map(({ event, asker }) => ({
      event,
      ...(asker.type === "approval" ? {} : { lost: true as const }),
    })),
    approved: [...approved.entries()],
    seen: [...seen].flatMap(([component, known]) =>
      [...known.entries()]
        .filter(([, each]) => each.answer || !ANEW.has(String(each.event?.event_type)))
        .map(([id, each]): State["seen"][number] => [component, id, fromSeen(each)]),
    ),
  };
}

const ANEW = new Set(["bb_input_request", "interrupt"]);

/** What the Hub stamps when it is logged: not a part of what happened. */
function bare({ seq: _seq, cursor: _cursor, ...event }: Event): Event {
  return event as Event;
}

function fromInput({ id, event, requester, returning }: Input): HeldInput {
  const more = returning ? { returning } : {};
  return { id, event: bare(event), ...more, ...(requester ? { requester: fromAsker(requester) } : {}) };
}

function fromAsker(asker: Asker & { callId?: string }): StoredAsker & { callId?: string } {
  const { component, id, principal, callId } = asker;
  const person = principal === undefined ? {} : { principal };
  return { component, id, ...person, ...(callId === undefined ? {} : { callId }) };
}

function fromTurn(turn: Turn): HeldTurn {
  const { loopId, round, calls, lastCall, sameCalls, tokens, input, steers, stopping } = turn;
  const phase = heldPhase(turn);
  // The wait before the next attempt is over with the restart.
  const attempt = turn.phase.step === "pausing" ? turn.attempt + 1 : turn.attempt;
  return {
    ...{ loopId, round, attempt, calls, lastCall, sameCalls, tokens },
    input: fromInput(input),
    steers: steers.map(fromInput),
    ...(stopping ? { stopping: stopping.reason } : {}),
    at: phase.at,
    ...(phase.at === "inferring" ? { request: phase.request } : {}),
    blocks: Object.entries(phase.blocks).map(([index, block]) => [Number(index), block]),
    asked: phase.calls.map(fromCall),
    due: phase.due.map(fromInput),
    ...(phase.end ? { end: phase.end } : {}),
  };
}

/** Where a live turn stands, as its log says it. */
function heldPhase({ phase }: Turn): Held {
  switch (phase.step) {
    case "held":
      return phase;
    case "inferring":
      return { ...held(), at: "inferring", request: phase.request, blocks: phase.blocks };
    case "calling":
      return { ...held(), at: "calling", calls: phase.calls };
    case "rendering":
    case "waiting":
    case "pausing":
      return held();
  }
}

function fromCall(call: Call): StoredCall {
  const { id, name, modelName, input, loopId, state, status, content, requester, approvedBy, tool } = call;
  const sent = call.held?.sent ?? (state === "running" || state === "waiting");
  const idempotent = tool?.definition.annotations?.idempotent === true;
  const again = idempotent && sent ? { again: { componentId: tool.componentId, hash: tool.hash } } : {};
  const { goes: _, ...known } = call.held ?? { sent };
  const stored: StoredCall = { ...again, ...known, id, name, modelName, sent };
  if (input !== undefined) stored.input = input;
  if (loopId !== undefined) stored.loopId = loopId;
  if (state === "asking") stored.asking = true;
  // It was approved, and waits for room.
  if (state === "queued" && call.approved !== undefined) stored.approved = call.approved;
  if (call.stopBy !== undefined) stored.stopped = true;
  if (requester) stored.requester = fromAsker(requester);
  if (approvedBy !== undefined) stored.approvedBy = approvedBy;
  if (state === "done") Object.assign(stored, { status, content });
  return stored;
}

/** Only its hash is kept of what was sent. */
function fromSeen({ event, hash = event && hashOf(event), answer }: Seen): Seen {
  return { ...(hash === undefined ? {} : { hash }), ...(answer ? { answer: slim(answer) } : {}) };
}

/** An acknowledgement says where its event is, not all of it. */
function slim(answer: Effect): Effect {
  if (answer.type === "send") return { ...answer, to: "", event: bare(answer.event) };
  if (answer.type !== "ack") return answer;
  const { of, ...rest } = answer;
  if (!of) return { ...rest, to: "" };
  // Its place may be known only when what is before this has been logged.
  const { event_type } = of;
  return { ...rest, to: "", of: { event_type, toJSON: () => ({ event_type, seq: of["seq"] }) } };
}

/** A `bb_state` of the log: the conversation with everything held where it was. `snapped`: what its `bb_snapshot` has. */
export function fromState(event: Event, snapped: Message[]): Conversation {
  const state = event["state"] as State;
  const conversation = newConversation(event["scope"] as string);
  conversation.messages = (state.messages as Message[] | undefined) ?? snapped;
  // A log of an older version does not say it.
  const isNamed = conversation.scope === conversation.cell && conversation.messages.length > 0;
  conversation.about = state.about ?? (isNamed ? {} : undefined);
  conversation.queue = state.queue.map(toInput);
  for (const call of [...state.calls, ...(state.turn?.asked ?? [])]) {
    if (call.status === undefined) conversation.calls.set(call.id, toCall(call));
  }
  if (state.turn) conversation.turn = toTurn(conversation, state.turn);
  for (const question of state.questions) putQuestion(conversation, question);
  for (const [key, approval] of state.approved) conversation.approved.set(key, approval);
  for (const [component, id, seen] of state.seen) recallSeen(conversation, component, id, seen);
  return conversation;
}

function toInput({ id, event, requester, returning }: HeldInput): Input {
  const input: Input = { id, event, content: contentOf(event), ...(returning ? { returning } : {}) };
  return requester ? { ...input, requester: { connection: "", ...requester } } : input;
}

function toTurn(conversation: Conversation, stored: HeldTurn): Turn {
  const { loopId, round, attempt, calls, lastCall, sameCalls, tokens = 0, at, request = "", end } = stored;
  const turn = newTurn(loopId, toInput(stored.input));
  Object.assign(turn, { round, attempt, calls, lastCall, sameCalls, tokens, steers: stored.steers.map(toInput) });
  if (stored.stopping !== undefined) turn.stopping = { reason: stored.stopping, until: 0 };
  const blocks: Block[] = [];
  for (const [index, block] of stored.blocks) blocks[index] = block;
  const asked = stored.asked.map((call) => conversation.calls.get(call.id) ?? toCall(call));
  turn.phase = { step: "held", at, request, blocks, calls: asked, due: stored.due.map(toInput), end };
  return turn;
}

function toCall(stored: StoredCall): Call {
  const { id, name, modelName, input, loopId, asking, status, content, requester, approvedBy, ...known } = stored;
  const call: Call = {
    ...{ id, tool: undefined, name, modelName, input, loopId, to: undefined, deadline: undefined, left: 0 },
    state: status !== undefined ? "done" : asking ? "asking" : "returning",
    held: known,
  };
  if (requester) call.requester = { connection: "", ...requester };
  if (approvedBy !== undefined) call.approvedBy = approvedBy;
  if (status !== undefined) Object.assign(call, { status, content });
  return call;
}

function putQuestion(conversation: Conversation, { event, lost }: State["questions"][number]): void {
  const call = lost ? undefined : conversation.calls.get(String(event["call_id"]));
  const asker: Question["asker"] = call ? { type: "approval", call } : { type: "gone" };
  if (call) call.held!.hash = (event["approval"] as { tool_hash: string }).tool_hash;
  conversation.questions.set(String(event["id"]), {
    ...{ id: String(event["id"]), event, schema: undefined, checking: undefined, asker },
  });
}
