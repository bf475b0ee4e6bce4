import type { BlobStore, EventLog } from "../../log/index.ts";
import { BytebotError, type Conversations, type Event, type Fork, type HistoryRequest } from "../../wire/index.ts";
import { copyBlobs, forkOf, mustBeKept } from "../conversations/forking.ts";
import { list } from "../conversations/listing.ts";
import type { Cells } from "../cells/cells.ts";
import type { Core } from "../core.ts";
import type { ConnectionId, Effect } from "../effects.ts";
import type { Loading } from "../recovery/loading.ts";
import type { StepInput } from "../step-input.ts";
import { page } from "./page.ts";
import { Pages, resultOf, type Pause } from "./pages.ts";

export interface AskedOptions {
  core: Core;
  log: EventLog;
  cells: Cells;
  store: BlobStore;
  loading: Loading;
  input: (input: StepInput) => void;
  send: (to: ConnectionId, event: Event) => void;
  fault: (error: unknown) => void;
}

/** What is asked that the log and the blobs have to be read for, and what becomes of both in the end. */
export class Asked {
  readonly pages = new Pages();
  /** Scopes in which one begins. */
  private readonly forking = new Set<string>();
  private readonly options: AskedOptions;

  constructor(options: AskedOptions) {
    this.options = options;
  }

  ask(effect: Extract<Effect, { type: "history" | "conversations" | "fork" | "wiped" }>): void {
    if (effect.type === "wiped") return void this.wiped(effect);
    const { type, to, event } = effect;
    const { pages } = this;
    const { send, input } = this.options;
    if (type === "fork") {
      const run = (pause: Pause): Promise<void> => this.fork(to, event, pause);
      const fail = (error: unknown): void =>
        input({ type: "refused", connection: to, event, error: BytebotError.from(error) });
      return pages.ask(to, { run, fail });
    }
    const found = (pause: Pause): Promise<object> =>
      type === "history" ? page(this.options.log, event as HistoryRequest & Event, pause) : this.list(to, event, pause);
    pages.ask(to, {
      run: async (pause) => send(to, resultOf(event, await found(pause))),
      fail: (error) => send(to, resultOf(event, { error })),
    });
  }

  private list(to: ConnectionId, event: Event, pause: Pause): Promise<object> {
    const { core, log } = this.options;
    const reader = core.synced(to);
    if (!reader) throw new BytebotError("cancelled", "the connection is gone");
    return list(core, log, reader, event as Conversations & Event, pause);
  }

  private async fork(connection: ConnectionId, event: Fork, pause: Pause): Promise<void> {
    const { core, log, store, loading, input } = this.options;
    const { scope, to } = event;
    const { conversation, oldest } = await forkOf(log, event, pause);
    await loading.known(to);
    if (core.loaded.of(to).length > 0 || this.forking.has(to))
      throw new BytebotError("conflict", `there is a conversation "${to}" already`);
    this.forking.add(to);
    try {
      await copyBlobs(store, conversation.messages, scope, to, () => mustBeKept(log, scope, oldest));
      await loading.known(to);
      input({ type: "forked", connection, event, conversation });
    } finally {
      this.forking.delete(to);
    }
  }

  /** Its blobs go too; and where nothing has begun since, nothing of it is kept in memory. */
  private async wiped({ cell, to, event }: Extract<Effect, { type: "wiped" }>): Promise<void> {
    const { core, cells, store, send, fault } = this.options;
    let failed: unknown;
    await store.drop(cell).catch((error: unknown) => fault((failed = error)));
    if (core.loaded.of(cell).length === 0) cells.forget(cell);
    const { code } = failed === undefined ? { code: undefined } : BytebotError.from(failed);
    const why = "it is deleted, and its blobs go when the Hub is started again";
    send(to, code === undefined ? event : { ...event, success: false, error: new BytebotError(code, why).toWire() });
  }
}
