import { covers, prefixesOf, widest, type Kind } from "../wire/index.ts";
import type { ConnectionId } from "./effects.ts";
import type { Synced } from "./state.ts";

/**
 * The synced connections, found by kind, by scope and by role: what one of them costs does not grow with how many others
 * there are.
 */
export class Connected {
  private readonly kinds = new Map<Kind, Map<ConnectionId, Synced>>();
  /** When each came, against the others. */
  private readonly order = new Map<ConnectionId, number>();
  private readonly uis = new ByScope();
  private readonly holders = new ByScope();
  private next = 0;

  add(connection: Synced): void {
    const { id, grant } = connection;
    this.order.set(id, this.next++);
    const same = this.kinds.get(grant.kind) ?? new Map<ConnectionId, Synced>();
    this.kinds.set(grant.kind, same.set(id, connection));
    if (grant.kind === "ui") this.uis.add(connection);
    if (grant.primary || grant.controller) this.holders.add(connection);
  }

  remove(connection: Synced): void {
    this.order.delete(connection.id);
    this.kinds.get(connection.grant.kind)?.delete(connection.id);
    this.uis.remove(connection);
    this.holders.remove(connection);
  }

  /** In the order in which they came. */
  all(): Synced[] {
    return [...this.order.keys()].map((id) => {
      for (const same of this.kinds.values()) if (same.has(id)) return same.get(id)!;
      throw new Error(`connection ${id} is of no kind`);
    });
  }

  /** In the order in which they came. */
  ofKind(kind: Kind): Iterable<Synced> {
    return this.kinds.get(kind)?.values() ?? [];
  }

  count(kind: Kind): number {
    return this.kinds.get(kind)?.size ?? 0;
  }

  /** The first to come of a component's connections. */
  ofComponent(id: string): Synced | undefined {
    for (const same of this.kinds.values()) {
      for (const connection of same.values()) if (connection.offer.componentId === id) return connection;
    }
    return undefined;
  }

  /** The UIs that may touch this scope. */
  uisOver(scope: string): Iterable<Synced> {
    return this.uis.over(scope);
  }

  /** Is there one of them of which this is true? */
  someUi(scope: string, test: (ui: Synced) => boolean): boolean {
    for (const ui of this.uis.over(scope)) if (test(ui)) return true;
    return false;
  }

  /** The UI that came first of those that may touch this scope and hold the primary's role. */
  primaryUi(scope: string): Synced | undefined {
    let first: Synced | undefined;
    for (const holder of this.holders.over(scope)) {
      if (holder.grant.kind !== "ui" || !holder.grant.primary) continue;
      if (!first || this.order.get(holder.id)! < this.order.get(first.id)!) first = holder;
    }
    return first;
  }

  /** Those with a role that are everywhere that these scopes are. */
  holdersOver(scopes: readonly string[]): Synced[] {
    const [any] = scopes;
    if (any === undefined) return [...this.holders.every()];
    return [...this.holders.over(any)].filter(({ grant }) => covers(grant.scopes, scopes));
  }
}

/** Connections by the widest scopes of their grants, of which at most one encloses any scope. */
class ByScope {
  private readonly scopes = new Map<string, Set<Synced>>();

  add(connection: Synced): void {
    for (const scope of widest(connection.grant.scopes)) {
      const those = this.scopes.get(scope) ?? new Set();
      this.scopes.set(scope, those.add(connection));
    }
  }

  remove(connection: Synced): void {
    for (const scope of widest(connection.grant.scopes)) {
      const those = this.scopes.get(scope);
      those?.delete(connection);
      if (those?.size === 0) this.scopes.delete(scope);
    }
  }

  /** Those that may touch this scope, each once. */
  *over(scope: string): Generator<Synced> {
    for (const prefix of prefixesOf(scope)) yield* this.scopes.get(prefix) ?? [];
  }

  every(): Set<Synced> {
    return new Set([...this.scopes.values()].flatMap((those) => [...those]));
  }
}
