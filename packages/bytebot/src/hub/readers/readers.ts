import { cellOf, mayReceive, type Event } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { isController, mayTouch } from "../grants.ts";
import { orderOf } from "../../log/index.ts";
import type { Outlet } from "./outlet.ts";
import { present, SENT_ON, withoutContent } from "./present.ts";
import { tenantsOf } from "../tenants/quotas.ts";
import type { Synced } from "../state.ts";

const TELEMETRY_BYTES = 1024 * 1024;

export interface ReaderOutput {
  outlet(connection: string): Outlet | undefined;
  /** A watcher threw: its own fault, which nobody else shall notice. */
  fault(error: unknown): void;
  /** The second check of the wall found what the first let through: a fault of ours, never the reader's. */
  breach(connection: string, event: Event): void;
}

export type Watcher = (event: Event) => void;

/** Who sees what: fans events out to the UIs and telemetry of their scope, past the check at the sink. */
export class Readers {
  /** In-process observers: `events()`. */
  readonly watchers = new Set<Watcher>();
  private readonly core: Core;
  private readonly out: ReaderOutput;
  private readonly dropped = new WeakMap<Synced, number>();

  constructor(core: Core, out: ReaderOutput) {
    this.core = core;
    this.out = out;
  }

  /** Is anybody there to be shown an event of this type? */
  want(type: string): boolean {
    const { connected } = this.core;
    if (connected.count("telemetry") + this.watchers.size > 0) return true;
    for (const { grant } of connected.ofKind("ui")) if (grant.types?.has(type) ?? true) return true;
    return false;
  }

  /** To every UI of the scope. `line`: as for `Link.send`. */
  publish(event: Event, line?: () => string): void {
    const scope = event["scope"];
    if (typeof scope !== "string") return;
    const { connected } = this.core;
    // What can no longer change is encoded once for all of them.
    if (connected.count("ui") > 1) Object.freeze(event);
    const cell = cellOf(scope);
    for (const reader of connected.uisOver(scope)) if (isDue(reader, event, cell)) this.show(reader, event, line);
  }

  /** One event to one UI, if it asked for its type; a question goes only to those who may answer, the primary marked. */
  show(reader: Synced, event: Event, line?: () => string): void {
    const { types, inputCapable } = reader.grant;
    if (types && !types.has(event.event_type)) return;
    if (event.event_type !== "input_strict") return this.deliver(reader, event, line);
    if (inputCapable) this.deliver(reader, this.isPrimary(reader, event) ? { ...event, primary: true } : event);
  }

  /** Where several were granted the role, as neither serves all that the other does, the first to come has it. */
  private isPrimary(reader: Synced, event: Event): boolean {
    return this.core.connected.primaryUi(String(event["scope"])) === reader;
  }

  /**
   * To telemetry and `events()`: everything that passes, once, as stamped; `but`: the connection whose own it is.
   * Telemetry cannot slow or break a turn.
   */
  observe(event: Event, but?: ConnectionId): void {
    if (this.watchers.size + this.core.connected.count("telemetry") === 0) return;
    for (const watch of this.watchers) {
      try {
        watch(event);
      } catch (error) {
        this.out.fault(error);
      }
    }
    let whole: Event | undefined;
    let bare: Event | undefined;
    const scope = event["scope"];
    for (const reader of this.core.connected.ofKind("telemetry")) {
      if (reader.id === but || !isDue(reader, event)) continue;
      if (typeof scope === "string" ? !mayTouch(reader, scope) : !reader.grant.scopes.includes("*")) continue;
      if (reader.grant.types && !reader.grant.types.has(event.event_type)) continue;
      if (reader.grant.content) this.sample(reader, (whole ??= copy(event)));
      else this.sample(reader, (bare ??= copy(withoutContent(event))));
    }
  }

  /** To one reader, an event from the log: in the same shapes, and the same order, as when it happened. */
  replay(reader: Synced, event: Event): void {
    if (!mayTouch(reader, String(event["scope"]))) return;
    const { kind, types, content } = reader.grant;
    if (event.event_type === "bb_snapshot") {
      if (kind === "ui") this.deliver(reader, event);
      else this.deliver(reader, copy(content ? event : withoutContent(event)));
      return;
    }
    const shown = present(event);
    if (kind === "ui") {
      const known = event.event_type === "input_strict" && reader.resume?.questions.has(String(event["id"]));
      if (shown && !known) this.show(reader, shown);
      return;
    }
    const both = shown && shown !== event ? [event, shown] : [event];
    // What is sent on is observed when it leaves: after it was shown.
    if (SENT_ON.has(event.event_type)) both.reverse();
    for (const each of both) {
      if (types && !types.has(each.event_type)) continue;
      this.deliver(reader, copy(content ? each : withoutContent(each)));
    }
  }

  /** To a connection by its id, if it is still there. */
  deliverTo(id: ConnectionId, event: Event): void {
    const to = this.core.synced(id);
    if (to) this.deliver(to, event);
  }

  deliver(to: Synced, event: Event, line?: () => string): void {
    const outlet = this.out.outlet(to.id);
    if (!outlet) return;
    const { kind, scopes } = to.grant;
    const { event_type } = event;
    if (!sinkAllows(scopes, event) || !mayReceive(kind, isController(to.grant, event_type), event_type)) {
      return this.out.breach(to.id, event);
    }
    const { unread } = outlet;
    outlet.send(event, line);
    if (unread > 0) this.unburden(to);
  }

  /** Where all readers of a tenant leave too much unread, the slowest of them goes (rule QTA-4). */
  private unburden(reader: Synced): void {
    for (const tenant of tenantsOf(reader.grant.scopes)) {
      let all = 0;
      let slowest: Outlet | undefined;
      for (const id of this.core.tenants.connections(tenant)) {
        const outlet = this.out.outlet(id);
        if (!outlet) continue;
        all += outlet.unread;
        if (!slowest || outlet.unread > slowest.unread) slowest = outlet;
      }
      if (all > this.core.options.quotas.buffered) slowest?.giveUp();
    }
  }

  /** Telemetry is the first to lose events, and is told how many. */
  private sample(reader: Synced, event: Event): void {
    const outlet = this.out.outlet(reader.id);
    if (!outlet) return;
    const missed = this.dropped.get(reader) ?? 0;
    if (outlet.link.buffered > TELEMETRY_BYTES) {
      this.dropped.set(reader, missed + 1);
      return;
    }
    if (missed > 0) {
      this.dropped.delete(reader);
      const message = `${missed} events were dropped: this telemetry reads too slowly`;
      outlet.send({ event_type: "bb_error", code: "overloaded", message, retryable: false, data: { dropped: missed } });
    }
    this.deliver(reader, event);
  }
}

function copy(event: Event): Event {
  return { ...event, observed: true };
}

/**
 * Is it this reader's turn to see the event as it happens? Not while the state of its cell is still to be shown; and to one
 * that reads the log only what comes after what it has read: once, without a gap (rules RPL-2 and RPL-6).
 */
function isDue({ resume, joining }: Synced, event: Event, cell?: string): boolean {
  if (!resume) return cell === undefined || !joining.has(cell);
  if (resume.through === undefined) return false;
  const cursor = event["cursor"];
  if (typeof cursor === "string") return orderOf(cursor) > resume.through;
  return cell === undefined || !joining.has(cell);
}

/**
 * The check at the sink, written apart from `mayTouch` on purpose: by text, not by segments, so that one mistake does
 * not pass both (rule SCP-8).
 */
export function sinkAllows(scopes: readonly string[], event: Event): boolean {
  const scope = event["scope"];
  if (scope === undefined) return true;
  if (typeof scope !== "string") return false;
  return scopes.some((granted) => granted === "*" || `${scope}/`.startsWith(`${granted}/`));
}
