import { BytebotError, cellOf, type Event } from "../wire/index.ts";
import type { Intake } from "./blobs/intake.ts";
import type { Cells } from "./cells/cells.ts";
import type { Core } from "./core.ts";
import type { ConnectionId } from "./effects.ts";
import type { Open } from "./open.ts";
import type { Loading } from "./recovery/loading.ts";
import type { StepInput } from "./step-input.ts";
import type { Clock } from "./timers.ts";
import { relay } from "./turn/blocks.ts";

/** Events of a connection that may wait behind one whose bytes are being kept, or whose conversation is being read. */
const MAX_WAITING = 10_000;

export interface ArrivalsOptions {
  core: Core;
  cells: Cells;
  loading: Loading;
  intake: Intake;
  clock: Clock;
  /** The core is not in the middle of something. */
  isIdle: () => boolean;
  input: (input: StepInput) => undefined;
  /** Shows it to its scope's readers at once. */
  publish: (event: Event) => void;
  end: (id: ConnectionId, reason: string) => void;
  fault: (error: unknown) => void;
}

/** What comes in, on its way to the core: in the order of its connection, its content kept, its conversation known. */
export class Arrivals {
  private readonly options: ArrivalsOptions;

  constructor(options: ArrivalsOptions) {
    this.options = options;
  }

  add(id: ConnectionId, open: Open, event: Event): void {
    if (open.inbox.isIdle && this.options.isIdle() && this.relayed(id, event)) return;
    open.inbox.add(() => this.takeIn(id, event));
    if (open.inbox.length > MAX_WAITING)
      this.options.end(id, `${MAX_WAITING} events wait for the log, or for the store of blobs`);
  }

  /** Undefined: it was taken at once. */
  private takeIn(id: ConnectionId, event: Event): Promise<void> | undefined {
    const { intake, loading, input } = this.options;
    const taken = intake.take(id, event);
    if (!taken && !loading.before(id, event)) return input({ type: "event", connection: id, event });
    return this.takeLate(id, event, taken).catch((error: unknown) =>
      input({ type: "refused", connection: id, event, error: BytebotError.from(error) }),
    );
  }

  private async takeLate(id: ConnectionId, event: Event, taken: Promise<Event> | undefined): Promise<void> {
    const { core, cells, loading, input } = this.options;
    const settled = taken ? await taken : event;
    // Again, as it may have left the memory meanwhile.
    for (let reading = loading.before(id, settled); reading; reading = loading.before(id, settled)) await reading;
    input({ type: "event", connection: id, event: settled });
    // It came to nothing in a cell of which there is nothing.
    const cell = typeof settled["scope"] === "string" ? cellOf(settled["scope"]) : undefined;
    if (cell !== undefined && core.loaded.of(cell).length === 0) cells.forget(cell);
  }

  /** The hot way of a delta: no batch and no effect where nothing waits before it. */
  private relayed(from: ConnectionId, event: Event): boolean {
    const { core, cells, clock, publish, fault } = this.options;
    try {
      const delta = relay(core, clock.now(), from, event);
      if (!delta) return false;
      const cell = cellOf(delta["scope"] as string);
      if (cells.isQuiet(cell)) publish(delta);
      else cells.add({ cell, append: [], effects: [{ type: "publish", event: delta }] });
    } catch (error) {
      fault(error);
    }
    return true;
  }
}
