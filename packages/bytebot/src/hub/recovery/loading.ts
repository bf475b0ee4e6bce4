import { BytebotError, cellOf, isScope, tenantOf, type Event } from "../../wire/index.ts";
import type { Cells } from "../cells/cells.ts";
import { isBusy } from "../conversation.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import { stamped } from "../readers/replay.ts";
import { Recent } from "../recent.ts";
import type { Asker, Conversation } from "../state.ts";
import type { StepInput } from "../step-input.ts";
import { orderOf, type EventLog } from "../../log/index.ts";
import { Recall } from "./recall.ts";

/** What becomes of the turns that were cut off: they go on, they end as interrupted, or they wait to be told. */
export type Recovery = "resume" | "end" | "wait";

/** What may begin something in its scope, so that all that the log says of that has to be known. */
const BEGINNING = new Set([
  "user_event",
  "interrupt",
  "bb_turn_request",
  "bb_tool_call_request",
  "bb_input_request",
  "bb_rename",
  "bb_delete",
]);

/** Whoever names scopes of its own while the disk is full makes no list without an end. */
const MAX_FAILED = 10_000;

export interface LoadingOptions {
  core: Core;
  cells: Cells;
  /** Reads of it have their deadlines: see `timely`. */
  log: EventLog;
  how: Recovery;
  input: (input: StepInput) => void;
  report: (line: string) => void;
}

/** Reads cells from the log: those where a Hub was cut off before the first event, the others as they are addressed. */
export class Loading {
  private readonly options: LoadingOptions;
  private readonly under = new Map<string, Promise<void>>();
  /** Their log refused something that readers were told the end of: the log is told it too. The newest; the others go on. */
  private readonly failed = new Recent<string, true>(MAX_FAILED);
  /** held: nothing goes on before `goOn`, so that components can come back first. */
  private state: "held" | "open" = "open";

  constructor(options: LoadingOptions) {
    this.options = options;
  }

  /** Resolves when the cell of this event is known; undefined: at once. Rejects where its log cannot be read. */
  before(from: ConnectionId, event: Event): Promise<void> | undefined {
    return this.isMissing(from, event) ? this.cell(cellOf(event["scope"] as string)) : undefined;
  }

  /** Would this event begin something in a cell of which nothing is known? */
  isMissing(from: ConnectionId, { event_type, scope }: Event): boolean {
    const { core, cells } = this.options;
    if (!BEGINNING.has(event_type) || !isScope(scope)) return false;
    if (cells.isLoaded(cellOf(scope)) && !core.budgets.needs(tenantOf(scope))) return false;
    const connection = core.synced(from);
    return connection !== undefined && mayTouch(connection, scope);
  }

  /** The cells in which something was under way: known from here on, and held until `goOn`. */
  async restore(): Promise<void> {
    this.state = "held";
    for await (const cell of this.options.log.unfinished()) {
      await this.cell(cell)?.catch((error: unknown) => {
        this.options.report(`cell "${cell}" was cut off and cannot be gone on with: ${String(error)}`);
      });
    }
  }

  /** What was held goes on, or ends, or waits; so does what is read from here on. */
  goOn(): void {
    this.state = "open";
    if (orderOf(this.options.log.end) > 0) this.options.input({ type: "restarted" });
    this.resume("*");
  }

  /** The log refused an entry of this cell: what it has is read anew when the cell is addressed again. */
  refused(cell: string): void {
    this.failed.set(cell, true);
  }

  /**
   * The input as it is when its turn has come: a cell leaves the memory only where nothing that may be for it waits; what
   * waited while its log failed, and its conversation with it, may come again. `alone`: nothing waits behind it.
   */
  inTurn(input: StepInput, alone: boolean): StepInput {
    if (input.type === "unload" && !(alone && this.options.cells.isQuiet(input.cell)))
      return { type: "rested", cell: input.cell };
    if (input.type === "forked" && !this.options.cells.isLoaded(input.event.to)) {
      const { connection, event } = input;
      return { type: "refused", connection, event, error: failedMeanwhile() };
    }
    if (input.type !== "event" || !this.isMissing(input.connection, input.event)) return input;
    return { ...input, type: "refused", error: failedMeanwhile() };
  }

  /** Resolves when all that the log says of this cell is known. */
  async known(name: string): Promise<void> {
    for (let reading = this.cell(name); reading; reading = this.cell(name)) await reading;
  }

  private cell(name: string): Promise<void> | undefined {
    const { core, cells } = this.options;
    if (cells.isLoaded(name) && !core.budgets.needs(tenantOf(name))) return undefined;
    const under = this.under.get(name);
    if (under) return under;
    const loading = this.load(name).finally(() => this.under.delete(name));
    this.under.set(name, loading);
    return loading;
  }

  private async load(name: string): Promise<void> {
    const { core, cells, log, input } = this.options;
    const tenant = tenantOf(name);
    if (core.budgets.needs(tenant)) {
      const spent = await log.spent(tenant);
      input({ type: "spent", tenant, spent });
    }
    if (cells.isLoaded(name)) return;
    const entries = await cells.read(name);
    const recall = new Recall();
    for (const entry of entries) {
      for (const [index, event] of entry.events.entries()) recall.add(stamped(event, entry, index));
    }
    // At once: whoever looks finds either nothing of the cell, or all.
    cells.opened(name, entries);
    const conversations = [...recall.conversations.values()];
    input({ type: "restore", conversations });
    const hasFailed = this.failed.get(name) === true;
    this.failed.delete(name);
    if (!conversations.some(isBusy)) return;
    if (hasFailed) {
      for (const asker of conversations.flatMap(askersOf)) asker.told = true;
      input({ type: "resume", scope: name, how: "end" });
    } else if (this.state === "open") this.resume(name);
  }

  private resume(scope: string): void {
    const { how, input } = this.options;
    if (how !== "wait") input({ type: "resume", scope, how });
  }
}

function failedMeanwhile(): BytebotError {
  return new BytebotError("unavailable", "the log failed meanwhile: send it again", { retryable: true });
}

/** Whoever waits for something that goes on. */
function askersOf({ turn, queue, calls }: Conversation): Asker[] {
  const inputs = turn ? [turn.input, ...turn.steers, ...queue] : queue;
  return [...inputs, ...calls.values()].flatMap(({ requester }) => requester ?? []);
}
