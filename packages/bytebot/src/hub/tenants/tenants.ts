import { tenantOf } from "../../wire/index.ts";
import type { Conversation, Pending } from "../state.ts";

/** Work that a tenant may have only so much of at once. */
export type Work = "infer" | "call";

/** What one tenant has at once; kept only while there is any. */
interface Tenant {
  connections: Set<string>;
  conversations: number;
  running: Record<Work, number>;
  /** Conversations with such work waiting for room: in a circle. */
  waiting: Record<Work, Set<Conversation>>;
}

/** The books of all tenants. */
export class Tenants {
  private readonly tenants = new Map<string, Tenant>();
  /** What was looked up last: one step asks for one tenant many times. */
  private last: { name: string; tenant: Tenant | undefined } = { name: "", tenant: undefined };
  private readonly most: Record<Work, number>;

  constructor(most: Record<Work, number>) {
    this.most = most;
  }

  get size(): number {
    return this.tenants.size;
  }

  connections(tenant: string): ReadonlySet<string> {
    return this.find(tenant)?.connections ?? NONE;
  }

  conversations(tenant: string): number {
    return this.find(tenant)?.conversations ?? 0;
  }

  /** A connection comes, or goes. */
  connect(names: Iterable<string>, connection: string): void {
    for (const name of names) this.of(name).connections.add(connection);
  }

  disconnect(names: Iterable<string>, connection: string): void {
    for (const name of names) {
      this.of(name).connections.delete(connection);
      this.tidy(name);
    }
  }

  /** So many conversations more, or fewer. */
  count(scope: string, conversations: 1 | -1): void {
    const name = tenantOf(scope);
    this.of(name).conversations += conversations;
    this.tidy(name);
  }

  /** May this begin now? Else its conversation waits for room (rule QTA-2). */
  enter(conversation: Conversation, work: Work): boolean {
    const { running, waiting } = this.of(tenantOf(conversation.scope)); // its conversation keeps it
    if (running[work] < this.most[work] && waiting[work].size === 0) return true;
    this.wait(conversation, work);
    return false;
  }

  wait(conversation: Conversation, work: Work): void {
    this.of(tenantOf(conversation.scope)).waiting[work].add(conversation);
  }

  /** A request is open from here on, or no more; what is at rest does not count. */
  began({ scope, kind }: Pending): void {
    if (kind !== "render") this.of(tenantOf(scope)).running[kind]++;
  }

  ended({ scope, kind }: Pending): void {
    if (kind === "render") return;
    const name = tenantOf(scope);
    this.of(name).running[kind]--;
    this.tidy(name);
  }

  /** Who comes next, where there is room; whoever has more of it to do queues again. */
  next(name: string, work: Work): Conversation | undefined {
    const tenant = this.find(name);
    if (!tenant || tenant.running[work] >= this.most[work]) return undefined;
    const first = tenant.waiting[work].values().next().value;
    if (first) tenant.waiting[work].delete(first);
    this.tidy(name);
    return first;
  }

  /** It has nothing of the kind to do any more. */
  leave(conversation: Conversation, work: Work): void {
    const name = tenantOf(conversation.scope);
    const waiting = this.find(name)?.waiting[work];
    if (waiting && waiting.size > 0 && waiting.delete(conversation)) this.tidy(name);
  }

  private find(name: string): Tenant | undefined {
    if (this.last.name !== name) this.last = { name, tenant: this.tenants.get(name) };
    return this.last.tenant;
  }

  private of(name: string): Tenant {
    let tenant = this.find(name);
    if (!tenant) {
      tenant = {
        connections: new Set(),
        conversations: 0,
        running: { infer: 0, call: 0 },
        waiting: { infer: new Set(), call: new Set() },
      };
      this.tenants.set(name, tenant);
      this.last.tenant = tenant;
    }
    return tenant;
  }

  private tidy(name: string): void {
    const tenant = this.find(name);
    if (!tenant) return;
    const { connections, conversations, running, waiting } = tenant;
    const busy = running.infer + running.call + waiting.infer.size + waiting.call.size;
    if (connections.size + conversations + busy > 0) return;
    this.tenants.delete(name);
    this.last.tenant = undefined;
  }
}

const NONE: ReadonlySet<string> = new Set();
