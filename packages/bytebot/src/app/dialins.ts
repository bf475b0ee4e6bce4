import { randomBytes } from "node:crypto";
import type { Attached, Hub, Offer } from "../hub/index.ts";
import { Endpoint, LateReceiver, type Receiver, type ServedLink } from "../transport/index.ts";
import { BytebotError, type Event } from "../wire/index.ts";
import { toOffer, type Credential } from "./credentials.ts";

/** Over HTTP the first event comes with the connection, so that nobody waits long for it; milliseconds. */
const SYNC_MS = 2000;
const MAX_NAME = 64;
/** Connections of one credential that wait for their bb_sync. */
const MAX_SILENT = 32;

export interface DialInsOptions {
  hub: Hub;
  /** An id that no component has, after this name. */
  newId: (name: string) => string;
  report: (line: string) => void;
  signal: AbortSignal;
}

interface Current {
  id: string;
  attached: Promise<Attached | undefined>;
}

/** The components that dialled in: each connection becomes one of the Hub's, under the grant of its credential. */
export class DialIns {
  readonly endpoint: Endpoint<Credential>;
  private readonly options: DialInsOptions;
  /** The newest connection of each credential that stands for one component. */
  private readonly current = new Map<Credential, Current>();
  /** Connections that have not said bb_sync yet, by credential: nobody fills the room of the others with them. */
  private readonly silent = new Map<Credential, number>();
  private readonly ids = new Set<string>();
  private readonly connections = new WeakMap<ServedLink, Attached>();
  private readonly attached = new Map<Credential, Set<Attached>>();
  private readonly credentials = new Map<string, Credential>();

  constructor(options: DialInsOptions) {
    this.options = options;
    this.endpoint = new Endpoint<Credential>({
      begins: "inbox",
      answersLater,
      name: ({ grant }) => grant.name,
      onConnection: (open, who) => this.open(open, who),
    });
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }

  /** The Hub's connection that this link carries; undefined before its `bb_sync`, and when it has closed. */
  connectionOf(link: ServedLink): string | undefined {
    return this.connections.get(link)?.id;
  }

  /** How a connection of the Hub's came in; undefined: it did not dial. */
  credentialOf(connection: string): Credential | undefined {
    return this.credentials.get(connection);
  }

  /** Its credential is good for nothing any more. */
  async end(who: Credential, reason: string): Promise<void> {
    await this.current.get(who)?.attached;
    await Promise.all([...(this.attached.get(who) ?? [])].map((attached) => attached.close(reason)));
    await this.endpoint.closeOf(who, reason);
    this.options.hub.expectContext(who, undefined);
    const current = this.current.get(who);
    this.current.delete(who);
    if (!current) return;
    this.forget(current.id);
  }

  private open(open: (receiver: Receiver) => ServedLink, who: Credential): void {
    const silent = this.silent.get(who) ?? 0;
    if (silent >= MAX_SILENT) {
      const message = `${silent} connections of this token have not said bb_sync: post it with the connection's first request`;
      throw new BytebotError("overloaded", message, { retryable: true, retryAfterMs: SYNC_MS });
    }
    this.silent.set(who, silent + 1);
    const late = new SyncsFirst();
    const link = open(late);
    const attached = this.attach(who, late, link);
    attached.catch((error: unknown) => this.options.report(`${who.grant.name}: ${BytebotError.from(error).message}`));
  }

  private async attach(who: Credential, late: LateReceiver, link: ServedLink): Promise<void> {
    const first = await firstEvent(late, link);
    const silent = this.silent.get(who)! - 1;
    if (silent > 0) this.silent.set(who, silent);
    else this.silent.delete(who);
    if (!first) return;
    const before = who.many ? undefined : this.current.get(who);
    const name = nameFor(who, first);
    const id = before?.id ?? this.options.newId(idFor(who, name));
    this.ids.add(id);
    // The old connection's place is free before the new one asks for it.
    const connecting = Promise.resolve(before?.attached)
      .then((old) => old?.close("its component has connected again"))
      .then(() => this.connect({ ...toOffer(id, who.grant), ...(who.many ? { passing: name } : {}) }, late, link));
    const current: Current = { id, attached: connecting.catch(() => undefined) };
    if (!who.many) this.current.set(who, current);
    try {
      const connected = await connecting;
      this.connections.set(link, connected);
      const all = this.attached.get(who) ?? new Set();
      this.attached.set(who, all.add(connected));
      this.credentials.set(connected.id, who);
      // Only now: what asks to be the context need not be granted it.
      if (first["kind"] === "context")
        connected.ready.then(
          () => this.options.hub.expectContext(who, who.grant.scopes ?? ["*"]),
          () => undefined,
        );
      await connected.closed;
      this.credentials.delete(connected.id);
      if (all.delete(connected) && all.size === 0) this.attached.delete(who);
    } finally {
      if (who.many) this.forget(id);
    }
  }

  private forget(id: string): void {
    this.ids.delete(id);
    this.options.hub.forget(id);
  }

  private connect(from: Offer, late: LateReceiver, link: ServedLink): Promise<Attached> {
    const connect = (receiver: Receiver): Promise<ServedLink> => {
      late.become(receiver);
      return Promise.resolve(link);
    };
    return this.options.hub.connect(from, connect, this.options.signal);
  }
}

/** What comes before bb_sync is refused in the request's own answer: there is no connection yet that could say so. */
class SyncsFirst extends LateReceiver {
  private hasSynced = false;

  override event(event: Event): void {
    this.hasSynced ||= event.event_type === "bb_sync";
    if (!this.hasSynced)
      throw new BytebotError("not_synced", "bb_sync is the first event of a connection: post it alone");
    super.event(event);
  }
}

/** These the core answers itself, when what they ask for is durable or decided. */
function answersLater(event: Event): boolean {
  switch (event.event_type) {
    case "bb_sync":
    case "input_reply":
      return true;
    case "user_event":
    case "interrupt":
      return typeof event["id"] === "string";
    default:
      return false;
  }
}

async function firstEvent(late: LateReceiver, link: ServedLink): Promise<Event | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), SYNC_MS);
  const first = await Promise.race([late.first, promise]);
  clearTimeout(timer);
  if (!first) await link.close(`no bb_sync came within ${SYNC_MS / 1000} s`);
  return first;
}

/** Of the many with grants of some scopes none is counted: a number would tell one tenant how many of others there are. */
function idFor({ grant, many }: Credential, name: string): string {
  return many && grant.scopes ? `${name}-${randomBytes(4).toString("hex")}` : name;
}

/** A bearer of a token for many says itself what it is called. */
function nameFor({ grant }: Credential, sync: Event): string {
  if (grant.name !== "") return grant.name;
  const name = sync["name"];
  const kind = sync["kind"];
  return isName(name) ? name : isName(kind) ? kind : "guest";
}

function isName(text: unknown): text is string {
  return typeof text === "string" && text.length <= MAX_NAME && /^[\w.@:-]+$/.test(text);
}
