import { randomUUID } from "node:crypto";
import { MemoryBlobs, orderOf, withLargeEvents, type EventLog } from "../log/index.ts";
import type { Connect, Receiver } from "../transport/index.ts";
import { BytebotError, toReport, type Event } from "../wire/index.ts";
import { Blobs } from "./blobs/blobs.ts";
import { Cells } from "./cells/cells.ts";
import { retentionOf } from "./cells/retention.ts";
import { control } from "./control.ts";
import { Core } from "./core.ts";
import type { Batch, ConnectionId, Effect, Plus } from "./effects.ts";
import type { Offer } from "./grants.ts";
import { Arrivals } from "./arrivals.ts";
import { Intake } from "./blobs/intake.ts";
import { lineIn } from "./cells/line.ts";
import { ending, newOpen, type Open } from "./open.ts";
import { withDefaults, type Attached, type HubOptions } from "./options.ts";
import { Outlet } from "./readers/outlet.ts";
import { Asked } from "./readers/asked.ts";
import { asJoining } from "./readers/join.ts";
import { present, SENT_ON, shownAs, withoutSecret } from "./readers/present.ts";
import { Readers, type Watcher } from "./readers/readers.ts";
import { replay, resumeAfter } from "./readers/replay.ts";
import { SchemaThread } from "./tools/schema-thread.ts";
import { Loading } from "./recovery/loading.ts";
import { step } from "./step.ts";
import type { StepInput } from "./step-input.ts";
import { refusals } from "./cells/refused.ts";
import { timely } from "./timely-log.ts";
import { systemClock, Timers, type Clock } from "./timers.ts";
import { Turns } from "./readers/turns.ts";

/** What a log may take to answer when the Hub closes: a little more than an append is repeated. */
const CLOSE_MS = 35_000;

/** Of one connection, line by line; of the rest the number is told at its end, so that noise cannot flood a terminal. */
const MAX_FAULTS_TOLD = 10;

/** The runner around the pure core: links in, links out, a log, timers, a clock. */
export class Hub {
  /** Content by reference, for whoever carries it otherwise than as events. */
  readonly blobs: Blobs;
  private readonly arrivals: Arrivals;
  private readonly core: Core;
  private readonly options: HubOptions;
  private readonly log: EventLog;
  private readonly cells: Cells;
  private readonly loading: Loading;
  private readonly readers: Readers;
  private readonly turns = new Turns();
  private readonly timers: Timers;
  private readonly schemas: SchemaThread;
  private readonly asked: Asked;
  private readonly clock: Clock;
  private readonly open = new Map<ConnectionId, Open>();
  private readonly inputs: StepInput[] = [];
  private state: "open" | "closed" = "open";

  constructor(options: HubOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    const store = options.blobs ?? new MemoryBlobs();
    this.log = timely(withLargeEvents(options.log), this.clock);
    this.core = new Core({ ...withDefaults(options), resumeAfter: (resume) => resumeAfter(this.log, resume) });
    this.cells = new Cells({
      log: this.log,
      clock: this.clock,
      retention: retentionOf(options.retention ?? {}),
      carryOut: (batch) => this.carryOut(batch),
      failed: (cell, batches, error) => this.logFailed(cell, batches, error),
      full: (cell) => this.input({ type: "base", cell }),
      fault: (error) => this.fault(error),
    });
    const { core, cells, log } = this;
    const fault = (error: unknown): void => this.fault(error);
    const parts = { core, cells, log, input: (input: StepInput) => this.input(input), fault };
    const report = (line: string): void => this.report(line);
    this.loading = new Loading({ ...parts, how: options.recovery ?? "resume", report });
    this.schemas = new SchemaThread(this.core.limits.schemaMs);
    const send = (to: ConnectionId, event: Event): void => this.send(to, event);
    this.asked = new Asked({ ...parts, store, loading: this.loading, send });
    this.timers = new Timers(this.clock, (key) => this.input({ type: "timer", key }));
    this.readers = new Readers(this.core, {
      outlet: (id) => this.open.get(id)?.outlet,
      fault: (error) => this.fault(error),
      breach: (id, event) => this.report(`fault: the sink stopped a ${event.event_type} that was not for ${id}`),
    });
    this.blobs = new Blobs(this.core, store, this.clock, {
      link: (id) => this.open.get(id)?.link,
      deliver: (id, event) => this.readers.deliverTo(id, event),
      refuse: (connection, event, error) => this.input({ type: "refused", connection, event, error }),
      observe: (event) => this.readers.observe(event),
    });
    this.arrivals = new Arrivals({
      ...parts,
      loading: this.loading,
      intake: new Intake(this.core, this.blobs, this.clock),
      clock: this.clock,
      isIdle: () => this.inputs.length === 0,
      publish: (event) => this.effect({ type: "publish", event }),
      end: (id, reason) => this.end(id, reason),
    });
  }

  /** Opens a link to a component and begins the handshake; rejects where it cannot be reached. */
  async connect(offer: Offer, connect: Connect, signal: AbortSignal): Promise<Attached> {
    if (this.state === "closed") throw new BytebotError("unavailable", "the Hub is closed");
    const id = `k_${randomUUID()}`;
    const open = newOpen(offer);
    this.open.set(id, open);
    this.input({ type: "opened", connection: id, offer });
    try {
      const link = await connect(this.receiver(id, open), signal);
      const { clock } = this;
      open.outlet = new Outlet(link, { clock, tooSlow: () => this.end(id, "slow_consumer") });
      open.link = link;
    } catch (error) {
      this.gone(id, BytebotError.from(error).message);
      throw error;
    }
    for (const event of open.early.splice(0)) this.arrivals.add(id, open, event);
    return {
      id,
      ready: open.ready.promise,
      closed: open.closed.promise,
      close: async (reason) => {
        this.end(id, reason, true);
        await open.closed.promise;
      },
    };
  }

  /** Sees every event that passes, once, as stamped, until `stop` is called. */
  watch(watcher: Watcher): { stop(): void } {
    this.readers.watchers.add(watcher);
    return { stop: () => void this.readers.watchers.delete(watcher) };
  }

  /** The app has a context for these scopes, or none any more of what it came by (`of`): then the plain transcript serves. */
  expectContext(of: unknown, scopes: readonly string[] | undefined): void {
    if (scopes) this.core.contexts.set(of, scopes);
    else this.core.contexts.delete(of);
  }

  /**
   * Reads from the log what was under way when the Hub before this one ended. Before the first connection: they are shown
   * it. Nothing goes on before `goOn`, so that components can come back first (rule REC-4).
   */
  restore(): Promise<void> {
    return this.loading.restore();
  }

  /** Goes on with what was cut off, or ends it: see `recovery` of the options. */
  goOn(): void {
    this.loading.goOn();
  }

  /** Goes on with what waits in this scope and below since the start, or ends it as interrupted (`recovery: "wait"`). */
  resume(scope: string, how: "resume" | "end"): void {
    this.input({ type: "resume", scope, how });
  }

  /** How much of everything is kept in memory, by name. */
  counts(): Record<string, number> {
    const { open, timers, cells } = this;
    const { pages } = this.asked;
    const { watchers } = this.readers;
    const sizes = { open, timers, cells, pages, watchers };
    const own = Object.entries(sizes).map(([name, { size }]) => [name, size]);
    return { ...this.core.counts(), ...Object.fromEntries(own), resting: cells.resting.length };
  }

  /** A component will not be back: its tools go with it, and nobody waits for it. */
  forget(componentId: string): void {
    this.input({ type: "forget", componentId });
  }

  /** Ends every link, waits for the log, and closes it. */
  async close(): Promise<void> {
    if (this.state === "closed") return;
    this.state = "closed";
    const closing = [...this.open.entries()].map(([id, open]) => {
      this.end(id, "the Hub is closing", true);
      return open.closed.promise;
    });
    await Promise.all(closing);
    if (!(await this.cells.settled(CLOSE_MS))) {
      this.report(`the log did not answer within ${CLOSE_MS / 1000} s: what it was asked to append may not be there`);
    }
    this.timers.clearAll();
    this.readers.watchers.clear();
    await this.blobs.close();
    await this.schemas.close();
    await this.log.close();
  }

  private receiver(id: ConnectionId, open: Open): Receiver {
    return {
      event: (event) => {
        if (open.link) this.arrivals.add(id, open, event);
        else open.early.push(event);
      },
      settled: () => open.inbox.settled(),
      fault: (error) => {
        if (++open.faults <= MAX_FAULTS_TOLD) this.report(`${open.offer.name}: ${error.message}`);
        const fault = { event_type: "bb_error", ...error.toWire(), from: open.offer.componentId, ts: this.clock.now() };
        this.readers.observe(fault);
        this.input({ type: "stray", connection: id, error });
      },
      closed: (reason) => this.gone(id, reason),
    };
  }

  private gone(id: ConnectionId, reason: string): void {
    const open = this.open.get(id);
    if (!open) return;
    this.open.delete(id);
    open.outlet?.close();
    this.asked.pages.forget(id);
    const untold = open.faults - MAX_FAULTS_TOLD;
    if (untold > 0) this.report(`${open.offer.name}: ${untold} more lines that were no events`);
    this.blobs.closed(id);
    // After what it had sent, which may still be on its way in.
    open.inbox.add(() => {
      const why = open.reason ?? reason;
      open.ready.reject(new BytebotError("unavailable", `${open.offer.name} ended before it was ready: ${why}`));
      open.closed.resolve({ reason: why, expected: open.expected });
      return this.input({ type: "closed", connection: id, reason: why });
    });
  }

  /** One step after the other: what carrying out one leads to waits until all of it is in its cells. */
  private input(input: StepInput): undefined {
    if (this.inputs.push(input) > 1) return undefined;
    for (let next: StepInput | undefined = input; next; next = this.inputs[0]) {
      const taken = this.loading.inTurn(next, this.inputs.length === 1);
      this.guarded(() => step(this.core, this.clock.now(), taken).forEach((batch) => this.cells.add(batch)));
      this.inputs.shift();
    }
  }

  /** A mistake in one place is told, and does not take everybody down. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fault(error);
    }
  }

  private fault(error: unknown): void {
    this.report(`fault: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }

  /** The batch is committed: show what was logged, then let its effects leave. */
  private carryOut(batch: Batch): void {
    for (const event of batch.append) this.guarded(() => this.show(event, lineIn(batch, event)));
    for (const effect of batch.effects) this.guarded(() => this.effect(effect, batch));
  }

  private show(event: Event, line?: () => string): void {
    // Nothing that happens: what the log has come to.
    if (event.event_type === "bb_snapshot" || event.event_type === "bb_state") return;
    if (!SENT_ON.has(event.event_type)) this.readers.observe(event);
    const shown = this.readers.want(shownAs(event)) ? present(event) : undefined;
    if (!shown) return;
    if (shown !== event) this.readers.observe(shown);
    this.readers.publish(shown, shown === event ? line : undefined);
  }

  private effect(effect: Effect, batch?: Batch): void {
    switch (effect.type) {
      case "send":
        return this.send(effect.to, effect.event, effect.plus, batch && lineIn(batch, effect.event, effect.plus));
      case "publish":
        this.readers.observe(effect.event);
        return this.readers.publish(effect.event);
      case "observe":
        return this.readers.observe(effect.event, effect.by);
      case "ack": {
        const { of, fate, inReplyTo } = effect;
        const ack = { event_type: "bb_ack", in_reply_to: inReplyTo, ts: this.clock.now() };
        const place = of?.["seq"] === undefined ? {} : { seq: of["seq"] };
        return this.send(effect.to, { ...ack, ...place, ...(fate ? { fate } : {}) });
      }
      case "timer":
        return this.timers.set(effect.key, effect.at);
      case "clear":
        return this.timers.clear(effect.key);
      case "limit":
        return this.open.get(effect.to)?.link?.limit(effect.limits);
      case "ready":
        return this.open.get(effect.to)?.ready.resolve();
      case "not_ready":
        return this.open.get(effect.to)?.ready.reject(effect.error);
      case "close":
        return this.end(effect.to, effect.reason, effect.bye === true);
      case "join": {
        const reader = this.core.synced(effect.to);
        if (reader?.grant.kind === "ui")
          for (const event of effect.events) this.readers.show(reader, asJoining(reader, event));
        return this.input({ type: "joined", connection: effect.to, cell: effect.cell });
      }
      case "replay":
        return this.replay(effect.to);
      case "control":
        return void control(this.options, this.core.synced(effect.to), effect.event).then((answer) =>
          this.send(effect.to, answer),
        );
      case "fault":
        return this.fault(effect.error);
      case "blob":
        return this.blobs.receive(effect.from, effect.event);
      case "check": {
        const { id, by, schemas, values } = effect;
        return this.schemas.check(by, { schemas, values }, (outcome) => this.input({ type: "checked", id, outcome }));
      }
      case "unload":
        return this.input({ type: "unload", cell: effect.cell });
      case "logged":
        return this.input({ type: "logged", wide: effect.wide });
      case "unloaded":
        return this.cells.forget(effect.cell);
      case "history":
      case "conversations":
      case "fork":
      case "wiped":
        return this.asked.ask(effect);
    }
  }

  private send(to: ConnectionId, event: Event, plus?: Plus, line?: () => string): void {
    let stamped = plus ? { ...event, ...plus } : event;
    // Where a reader stands that has seen nothing durable yet (rule RPL-4).
    if (event.event_type === "bb_live") stamped = { ...event, cursor: this.cells.end };
    const connection = this.core.connections.get(to);
    if (connection?.state === "synced") this.readers.deliver(connection, stamped, line);
    else this.answer(to, stamped);
    this.readers.observe(withoutSecret(stamped), to);
  }

  /** To a connection of no grant yet, or about a line that was no event: it too is closed where it does not read. */
  private answer(to: ConnectionId, event: Event): void {
    this.open.get(to)?.outlet?.send(event);
  }

  private replay(to: ConnectionId): void {
    const reader = this.core.synced(to);
    const outlet = this.open.get(to)?.outlet;
    if (!reader?.resume || !outlet) return;
    replay({
      log: this.log,
      reader: { ...reader, resume: reader.resume },
      outlet,
      turns: this.turns,
      show: (event: Event) => this.guarded(() => this.readers.replay(reader, event)),
      shown: () => orderOf(this.cells.end),
      caughtUp: (through: number) => this.input({ type: "caught_up", connection: to, through }),
    }).catch((error: unknown) => {
      this.send(to, { event_type: "bb_error", ...BytebotError.from(error).toWire() });
      this.end(to, "the log could not be read");
    });
  }

  /** Says why, then closes; what waited for the connection is told when the link has ended. */
  private end(id: ConnectionId, reason: string, expected = false): void {
    const open = this.open.get(id);
    if (open) ending(open, reason, expected);
    const link = open?.link;
    if (!link) return this.gone(id, reason);
    // What was held back is live only: whoever returns gets the text as it is then.
    open.outlet?.close();
    link.send({ event_type: "bb_bye", reason });
    link.close(reason).catch((error: unknown) => {
      this.report(`closing ${link.name} failed: ${String(error)}`);
      this.gone(id, reason);
    });
  }

  /** Nothing of these batches happened: whoever waits for an answer is told, and the cell's work is given up. */
  private logFailed(cell: string, batches: Batch[], error: BytebotError): void {
    this.report(`the log refused an entry of cell "${cell}": ${error.message}`);
    for (const { to, event } of refusals(batches, error, this.clock.now())) this.send(to, event);
    this.loading.refused(cell);
    this.input({ type: "log_failed", cell, lost: batches, error });
    // What reads is not what failed: a reader joins all the same, and a page of history is what the log has.
    for (const effect of batches.flatMap((batch) => batch.effects)) {
      if (effect.type === "join") this.input({ type: "joined", connection: effect.to, cell: effect.cell });
      if (effect.type === "history") this.effect(effect);
    }
  }

  private report(line: string): void {
    this.options.report?.(toReport(line));
  }
}
