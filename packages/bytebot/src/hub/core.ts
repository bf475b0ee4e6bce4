import { Connected } from "./connected.ts";
import { BytebotError, cellOf, tenantOf, toReport, type Event } from "../wire/index.ts";
import { Budgets, type Budget, type Price } from "./tenants/budget.ts";
import { Buckets } from "./tenants/bucket.ts";
import { Tenants, type Work } from "./tenants/tenants.ts";
import { RETRY_MS, type Quotas } from "./tenants/quotas.ts";
import type { CoreLimits } from "./limits.ts";
import { Loaded } from "./cells/loaded.ts";
import { isBusy, newConversation } from "./conversation.ts";
import { addSpent, MAX_ENTRY_EVENTS } from "../log/index.ts";
import type { Offer } from "./grants.ts";
import type { Batch, ConnectionId, Effect, Plus } from "./effects.ts";
import type { PolicyRule, Sync } from "../wire/index.ts";
import { Policy } from "./tools/policy.ts";
import type { Outcome } from "./tools/schema.ts";
import type { InputRule } from "./turn/mode.ts";
import { Toolbox } from "./tools/toolbox.ts";
import type { Wide } from "./turn/interrupt.ts";
import type { Answerer, Call, Checking, Connection, Conversation, Pending, Resume, Synced } from "./state.ts";

/** What the core takes from outside, so that a run can be repeated. Times in milliseconds. */
export interface CoreOptions {
  name: string;
  version: string;
  /** A random id with this prefix: `newId("l")` → `l_…`. */
  newId: (prefix: string) => string;
  policy: PolicyRule[];
  /** The mode of input that names none. */
  input: readonly InputRule[];
  /** Use the plain transcript where a context is configured but not there. */
  contextFallback: boolean;
  limits: CoreLimits;
  /** The place in the log that a `resume` names. Throws `cursor_expired`. */
  resumeAfter: (resume: NonNullable<Sync["resume"]>) => Resume["after"];
  quotas: Quotas;
  /** By patterns of tenants. */
  budgets: Record<string, Budget>;
  /** By patterns of models. */
  prices: Record<string, Price>;
}

/** What one part of a conversation tells the others (see `raise`). */
export type Happened =
  /** A tenant has room for more of this work. */
  | { type: "room"; tenant: string; work: Work }
  /** An infer is back, or will not be. */
  | { type: "infer_settled" }
  | { type: "tools_registered" }
  /** An interrupt reached a turn that is held since the Hub was started. */
  | { type: "held_stopped"; conversation: Conversation }
  /** A call that is held may run now, or is refused. */
  | { type: "call_returns"; conversation: Conversation; call: Call }
  | { type: "call_ended"; conversation: Conversation; call: Call }
  | {
      type: "approval_answered";
      conversation: Conversation;
      call: Call;
      choice: string;
      outcome: string;
      by: Answerer;
    };

/** Of one connection, at once. */
const MAX_CHECKS = 100;

type Of = NonNullable<Checking["of"]>;

/**
 * The Hub's state and the outputs of the step it is in. Pure: no clock, no I/O, no randomness of its own; the same
 * inputs give the same batches. The functions beside this file are its behaviour, one concept a file.
 */
export class Core {
  readonly options: CoreOptions;
  readonly connections = new Map<ConnectionId, Connection>();
  readonly conversations = new Map<string, Conversation>();
  readonly loaded = new Loaded();
  /** Until then what a turn needs, and was there before the Hub was restarted, may still come back (rule REC-4). */
  private awaited = 0;
  /** Conversations with a turn, a queue, a call or a question, by tenant: all that an interrupt or a late joiner looks through. */
  readonly active = new Map<string, Set<Conversation>>();
  readonly pending = new Map<string, Pending>();
  /** Where an open question is, by its id. */
  readonly questions = new Map<string, Conversation>();
  /** What goes on when a check in the schemas' thread has its outcome, by the check's id. */
  readonly checks = new Map<string, Checking>();
  /** Interrupts that are on their way to the logs of several cells. */
  readonly wide = new Map<string, Wide>();
  /** Infers that were lost and may be back, and until when, by component id (rule TRN-11). */
  readonly away = new Map<string, { offer: Offer; until: number }>();
  readonly tools = new Toolbox();
  readonly tenants: Tenants;
  /** What tenants send, by the second. */
  readonly rates: Buckets;
  readonly budgets: Budgets;
  policy: Policy;
  /** The scopes in which the app has a context, by what it came by: there its absence is an error, not a default. */
  readonly contexts = new Map<unknown, readonly string[]>();
  now = 0;
  /** Those of `connections` that have synced. */
  readonly connected = new Connected();
  private out: Batch[] = [];
  /** The last batch of each cell in `out`: one step may reach very many. */
  private readonly last = new Map<string | undefined, Batch>();
  private happened: Happened[] = [];
  /** Conversations of this step's making, or of which something was refused in it: there may be nothing in them. */
  private readonly fresh: Conversation[] = [];

  constructor(options: CoreOptions) {
    this.options = options;
    this.policy = new Policy(options.policy);
    const { inferences, calls, events } = options.quotas;
    this.tenants = new Tenants({ infer: inferences, call: calls });
    this.rates = new Buckets(events);
    this.budgets = new Budgets(options.budgets, options.prices);
  }

  get limits(): CoreLimits {
    return this.options.limits;
  }

  newId(prefix: string): string {
    return this.options.newId(prefix);
  }

  /** Something has happened in a conversation that another part of it goes on from, once this part is done. */
  raise(happened: Happened): void {
    this.happened.push(happened);
  }

  /** Runs one input at time `now`, then `handle` for whatever was raised, and returns what it led to, in order. */
  take(now: number, input: () => void, handle: (happened: Happened) => void): Batch[] {
    this.now = now;
    this.out = [];
    this.last.clear();
    input();
    for (let next = this.happened.shift(); next; next = this.happened.shift()) handle(next);
    this.dropEmpty();
    const out = this.out;
    // Of several entries of one step all but the last are not yet where the step has come to (rule LOG-6).
    for (const batch of out) {
      if (batch.append.length === 0) continue;
      if (this.last.get(batch.cell) !== batch || this.loaded.isBusy(batch.cell!)) batch.open = true;
    }
    this.out = [];
    this.last.clear();
    return out;
  }

  /**
   * Appends to the cell's log; the event is shown to the scope's readers once it is committed. `about`, `spent`: what is
   * kept beside the log in the same commit.
   */
  append(scope: string, event: Event, { about, spent }: Pick<Batch, "about" | "spent"> = {}): Event {
    event["ts"] = this.now;
    const batch = this.batch(cellOf(scope), true);
    batch.append.push(event);
    if (about) batch.about = about;
    if (spent) batch.spent = addSpent(batch.spent, spent);
    return event;
  }

  /** Appends what stands for all of the cell so far, as an entry of its own. */
  base(cell: string, events: Event[], more: Pick<Batch, "about" | "wipe"> = {}): void {
    this.open({ cell, append: events, effects: [], base: true, ...more });
  }

  /** An effect that waits for all that was appended to its cell before it. */
  effect(scope: string | undefined, effect: Effect): void {
    this.batch(scope === undefined ? undefined : cellOf(scope), false).effects.push(effect);
  }

  send(scope: string | undefined, to: ConnectionId, event: Event, plus?: Plus): void {
    event["ts"] = this.now;
    this.effect(scope, { type: "send", to, event, ...(plus ? { plus } : {}) });
  }

  /**
   * Checks values by schemas in the thread for costly ones, then goes on with the outcome: what `goOn` throws is told to
   * `of`, whoever asked. `by`: whose turn it is there (rule TOL-7).
   */
  check(
    { by, schemas, values = [], of }: { by: string; schemas: readonly string[]; values?: readonly unknown[]; of?: Of },
    goOn: (outcome: Outcome) => void,
  ): void {
    if (of) {
      const own = [...this.checks.values()].filter((checking) => checking.of?.connection === of.connection);
      if (own.length >= MAX_CHECKS)
        throw new BytebotError("overloaded", `${MAX_CHECKS} schemas of this connection are being checked`, {
          retryable: true,
        });
    }
    const id = this.newId("s");
    this.checks.set(id, { of, goOn });
    this.effect(undefined, { type: "check", id, by, schemas, values });
  }

  /** Asks whoever works on this request or call to stop (rule INT-3). */
  cancel(scope: string, to: ConnectionId, target: string, reason: string): void {
    this.send(scope, to, { event_type: "bb_cancel", target, scope, reason });
  }

  /** Tells one connection that what it sent was refused. */
  refuse(to: ConnectionId, error: BytebotError, inReplyTo?: unknown): void {
    const reply = typeof inReplyTo === "string" ? { in_reply_to: inReplyTo } : {};
    const message = toReport(error.message);
    this.send(undefined, to, { event_type: "bb_error", ...reply, ...error.toWire(), message });
  }

  synced(id: ConnectionId): Synced | undefined {
    const connection = this.connections.get(id);
    return connection?.state === "synced" ? connection : undefined;
  }

  /** The one of this scope, new where it was not known: `beyond` all that its tenant may have, or only where it has room. */
  conversation(scope: string, room?: "beyond"): Conversation {
    let conversation = this.conversations.get(scope);
    if (!conversation) {
      if (!room) this.mustHaveRoom(tenantOf(scope));
      conversation = newConversation(scope);
      this.adopt(conversation);
      this.fresh.push(conversation);
    }
    return conversation;
  }

  /** One that is in memory from here on. */
  adopt(conversation: Conversation): void {
    this.conversations.set(conversation.scope, conversation);
    this.tenants.count(conversation.scope, 1);
    this.loaded.add(conversation);
  }

  /** It leaves the memory: what the log has of it counts, and is read when its cell is addressed again. */
  unload(conversation: Conversation): void {
    if (this.remove(conversation)) this.effect(undefined, { type: "unloaded", cell: conversation.cell });
  }

  /** It is in memory no more. True: it was the last of its cell. */
  remove(conversation: Conversation): boolean {
    if (!this.conversations.delete(conversation.scope)) return false;
    this.tenants.count(conversation.scope, -1);
    const tenant = tenantOf(conversation.scope);
    if (this.tenants.conversations(tenant) === 0) this.budgets.forget(tenant);
    return this.loaded.remove(conversation);
  }

  /** The Hub was restarted: infers and contexts may still be on their way. */
  comesBack(): void {
    this.awaited = this.now + this.limits.returnMs;
  }

  get isAwaiting(): boolean {
    return this.now < this.awaited;
  }

  private mustHaveRoom(tenant: string): void {
    const most = this.options.quotas.conversations;
    if (this.tenants.conversations(tenant) < most) return;
    throw new BytebotError("overloaded", `tenant "${tenant}" has ${most} conversations, and may have no more`, {
      retryable: true,
      retryAfterMs: RETRY_MS,
    });
  }

  /** What it was addressed for was refused in the end: where that was all, it goes when the step ends. */
  refusedIn(conversation: Conversation): void {
    if (this.conversations.get(conversation.scope) === conversation) this.fresh.push(conversation);
  }

  /** What was addressed and nothing came of, leaves nothing behind (rule QTA-7). */
  private dropEmpty(): void {
    for (const conversation of this.fresh.splice(0)) {
      const { scope, messages, seen, approved } = conversation;
      if (this.conversations.get(scope) !== conversation) continue;
      if (messages.length + seen.size + approved.size === 0 && !isBusy(conversation)) this.unload(conversation);
      else this.settle(conversation);
    }
  }

  /** An infer was lost: it may be back. */
  lost(offer: Offer): void {
    for (const [id, { until }] of this.away) if (until <= this.now) this.away.delete(id);
    this.away.set(offer.componentId, { offer, until: this.now + this.limits.returnMs });
  }

  /** How much of everything is kept: for tests and for whoever looks for what grows. */
  counts(): Record<string, number> {
    const { connections, conversations, active, pending, questions, checks } = this;
    const { wide, away, tools, tenants, rates, budgets } = this;
    const known = { connections, conversations, active, pending, questions, checks };
    const sizes = { ...known, wide, away, tools, tenants, rates, budgets };
    return Object.fromEntries(Object.entries(sizes).map(([name, { size }]) => [name, size]));
  }

  /** It was left alone or detached: nobody waits for it any more, and its tools are gone. */
  forget(componentId: string): void {
    this.tools.remove(componentId);
    if (this.away.delete(componentId)) this.raise({ type: "infer_settled" });
  }

  /** A request goes out, or out again: its answer counts from now on. */
  expect(request: string, to: ConnectionId, scope: string, kind: Pending["kind"]): void {
    const before = this.pending.get(request);
    const pending = { to, scope, kind, resting: before?.resting ?? 0 };
    if (!before) this.tenants.began(pending);
    this.pending.set(request, pending);
  }

  /** A call begins to wait for a person or a child turn (1), or has waited (-1): meanwhile it takes no room. */
  rest(call: string, change: 1 | -1): void {
    const pending = this.pending.get(call);
    if (!pending) return;
    pending.resting += change;
    if (change === 1 && pending.resting === 1) this.makeRoom(pending);
    if (change === -1 && pending.resting === 0) this.tenants.began(pending);
  }

  private makeRoom(pending: Pending): void {
    this.tenants.ended(pending);
    if (pending.kind !== "render") this.raise({ type: "room", tenant: tenantOf(pending.scope), work: pending.kind });
  }

  /** The request no longer waits, and its timer (by the same name) with it; whatever still comes for it changes nothing. */
  drop(request: string): boolean {
    const pending = this.pending.get(request);
    if (!pending) return false;
    this.pending.delete(request);
    if (pending.resting === 0) this.makeRoom(pending);
    this.effect(pending.scope, { type: "clear", key: `${pending.kind}:${request}` });
    this.synced(pending.to)?.ended.set(request, pending.scope);
    return true;
  }

  /** Keeps `active` true to the conversation's state; called after every change of it. */
  settle(conversation: Conversation): void {
    const tenant = tenantOf(conversation.scope);
    const busy = isBusy(conversation);
    if (conversation.awaitsTools && ![...conversation.calls.values()].some(({ state }) => state === "returning")) {
      conversation.awaitsTools = false;
      this.effect(conversation.scope, { type: "clear", key: `returning:${conversation.scope}` });
    }
    if (!busy && conversation.graceAt !== undefined) {
      conversation.graceAt = undefined;
      this.effect(conversation.scope, { type: "clear", key: `grace:${conversation.scope}` });
    }
    if (conversation.turn?.phase.step !== "waiting") this.tenants.leave(conversation, "infer");
    if (conversation.calls.size === 0) this.tenants.leave(conversation, "call");
    const set = this.active.get(tenant);
    if (busy && set?.has(conversation) !== true) {
      if (set) set.add(conversation);
      else this.active.set(tenant, new Set([conversation]));
      this.loaded.work(conversation.cell, 1);
    }
    if (busy) return;
    if (set?.delete(conversation)) {
      if (set.size === 0) this.active.delete(tenant);
      this.loaded.work(conversation.cell, -1);
    }
    this.rested(conversation.cell);
  }

  /** Nothing goes on in this cell: it stays in memory, and the one that has been idle the longest may have to go. */
  rested(cell: string): void {
    this.loaded.rest(cell);
    // One at least: what was read just now would leave before it is used.
    const excess = this.loaded.excess(Math.max(1, this.limits.idle));
    if (excess !== undefined) this.effect(excess, { type: "unload", cell: excess });
  }

  /** A batch to add to: the cell's last one, unless an append must not overtake effects that are already in it. */
  private batch(cell: string | undefined, appending: boolean): Batch {
    const last = this.last.get(cell);
    const full = appending && last !== undefined && last.append.length >= MAX_ENTRY_EVENTS;
    if (last && !full && !(appending && last.effects.length > 0)) return last;
    return this.open({ cell, append: [], effects: [] });
  }

  private open(batch: Batch): Batch {
    this.out.push(batch);
    this.last.set(batch.cell, batch);
    return batch;
  }
}
