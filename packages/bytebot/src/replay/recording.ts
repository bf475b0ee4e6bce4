import {
  BytebotError,
  cellOf,
  decode,
  encloses,
  validate,
  wide,
  type Event,
  type ToolDefinition,
  type ToolRegister,
} from "../wire/index.ts";
import { readLines, type NumberedLine } from "./lines.ts";
import { isBare, isLogged, isShown, toLogged } from "./logged.ts";
import { inOrder } from "./order.ts";

/** Bytes of what is kept of a file, and of its events. */
const MOST_BYTES = 128 * 1024 * 1024;
const MOST_EVENTS = 1_000_000;

/** An event as the log has it, and the line of the file that says so. */
export interface Recorded {
  line: number;
  event: Event;
}

/** What a file says of what happened. */
export interface Recording {
  /** In the order of each cell's log. */
  cells: Map<string, Recorded[]>;
  /** Tools by their registered names, where the file has a registration. */
  tools: Map<string, ToolDefinition>;
  /** What a person answered, by the question's id, where the file has the answer. */
  answers: Map<string, unknown>;
  /** The last line is not whole. */
  cutAt: number | undefined;
}

/**
 * Reads a recording: the durable events among JSON lines, what is live only passed over. Throws BytebotError that names
 * the line: `parse_error`, `invalid_event`, `too_large`, or `not_found` where nothing in it can be replayed.
 */
export async function readRecording(source: AsyncIterable<Uint8Array>, scope?: string): Promise<Recording> {
  const reader = new Reader(scope);
  await readLines(source, wide.line_bytes, (line) => reader.take(line));
  return reader.finish();
}

class Reader {
  private readonly scope: string | undefined;
  private readonly stamped: Recorded[] = [];
  private readonly unstamped: Recorded[] = [];
  private readonly tools = new Map<string, ToolDefinition>();
  private readonly answers = new Map<string, unknown>();
  private readonly resolved = new Set<unknown>();
  private log: { name: string; line: number } | undefined;
  /** Copies without their content: the whole ones may be there too. */
  private readonly bare: Recorded[] = [];
  /** Of an event without a stamp: it matters where no event has one. */
  private wrong: BytebotError | undefined;
  private bytes = 0;
  private events = 0;
  private kept = 0;
  private cutAt: number | undefined;

  constructor(scope: string | undefined) {
    this.scope = scope;
  }

  take({ number, line, bytes, unended }: NumberedLine): void {
    if (line === undefined)
      throw new BytebotError("too_large", `line ${number} has ${bytes} bytes; an event has ${wide.line_bytes} at most`);
    let event: Event;
    try {
      event = decode(line, wide);
    } catch (error) {
      // A recording that was cut while it was written.
      if (unended && BytebotError.from(error).code === "parse_error") this.cutAt = number;
      else throw at(number, error);
      return;
    }
    this.events++;
    if (event.event_type === "bb_tool_register" || event.event_type === "input_reply") this.note(event);
    if (event.event_type === "input_resolved") this.resolved.add(event["id"]);
    if (!isLogged(event) && !isShown(event)) return;
    const scope = event["scope"];
    const isResult = event.event_type === "bb_infer_result";
    // What a satellite sent, which is not in the log: only an infer's result says what nobody else is told.
    if (scope === undefined && event["seq"] === undefined && !isResult) return;
    if (isBare(event) && event["seq"] !== undefined) return void this.bare.push({ line: number, event: keyOf(event) });
    try {
      // As the log has it, a request is without its messages.
      validate(event.event_type === "bb_infer_request" ? { messages: [], ...event } : event);
      if (scope === undefined && !isResult)
        throw new BytebotError("invalid_event", `${event.event_type} has no "scope"`);
    } catch (error) {
      if (event["seq"] !== undefined) throw at(number, error);
      this.wrong ??= at(number, error);
      return;
    }
    if (this.scope !== undefined && typeof scope === "string" && !encloses(this.scope, scope)) return;
    this.bytes += bytes;
    this.keep({ line: number, event });
  }

  finish(): Recording {
    // Where the Hub stamped nothing at all, the order is that of the lines.
    const plain = this.stamped.length === 0;
    if (plain && this.wrong) throw this.wrong;
    const kept = plain ? this.unstamped.filter(({ event }) => event["scope"] !== undefined) : this.stamped;
    this.mustHaveContent();
    if (kept.length === 0) throw new BytebotError("not_found", this.nothing());
    const cells = new Map<string, Recorded[]>();
    for (const each of kept) {
      const cell = cellOf(String(each.event["scope"]));
      const own = cells.get(cell);
      if (own) own.push(each);
      else cells.set(cell, [each]);
    }
    const results = plain ? [] : this.unstamped.filter(({ event }) => event.event_type === "bb_infer_result");
    for (const [cell, events] of cells) cells.set(cell, inOrder(events, results).map(asLogged));
    return { cells, tools: this.tools, answers: this.answers, cutAt: this.cutAt };
  }

  private keep(recorded: Recorded): void {
    const { line, event } = recorded;
    const stamped = typeof event["seq"] === "number";
    const list = stamped ? this.stamped : this.unstamped;
    list.push(recorded);
    if (this.bytes > MOST_BYTES || ++this.kept > MOST_EVENTS) {
      const most = `${MOST_EVENTS} events or ${MOST_BYTES / 1024 / 1024} MiB`;
      throw new BytebotError(
        "too_large",
        `up to line ${line} it has more than ${most}: replay a part of it, with --scope or from a shorter file`,
      );
    }
    if (!stamped || typeof event["cursor"] !== "string") return;
    const name = event["cursor"].slice(0, event["cursor"].lastIndexOf(":"));
    this.log ??= { name, line };
    if (name === this.log.name) return;
    throw new BytebotError(
      "conflict",
      `line ${line} is of another log than line ${this.log.line}: replay each log from a file of its own`,
    );
  }

  /** What is not in the log, and says more of it. What is wrong with it does not matter: then it says nothing. */
  private note(event: Event): void {
    try {
      validate(event);
    } catch {
      return;
    }
    const { in_reply_to, outcome, value } = event;
    if (event.event_type === "input_reply") {
      // The newest before the end is the one that was taken: those before it were refused.
      if (outcome === "accepted" && value !== undefined && !this.resolved.has(in_reply_to))
        this.answers.set(String(in_reply_to), value);
    } else for (const tool of (event as unknown as ToolRegister).tools) this.tools.set(tool.name, tool);
  }

  private mustHaveContent(): void {
    if (this.bare.length === 0) return;
    const whole = new Set(this.stamped.map(({ event }) => seqOf(event)));
    const missing = this.bare.find(({ event }) => !whole.has(seqOf(event)));
    if (!missing) return;
    throw new BytebotError(
      "invalid_params",
      `line ${missing.line} has no content: record it as a telemetry that is granted content, as bytebot tail is`,
    );
  }

  private nothing(): string {
    if (this.events === 0) return "it has no events: record one with bytebot tail --since start";
    const where = this.scope === undefined ? "" : ` of the scope ${this.scope}`;
    return `none of its ${this.events} events is a durable one${where}: record with bytebot tail --since start`;
  }
}

/** What of an event says which one of its log it is. */
function keyOf({ event_type, scope, seq }: Event): Event {
  return { event_type, scope, seq };
}

function seqOf({ scope, seq }: Event): string {
  return `${cellOf(String(scope))} ${String(seq)}`;
}

function at(line: number, error: unknown): BytebotError {
  const { code, message } = BytebotError.from(error);
  return new BytebotError(code, `line ${line}: ${message}`);
}

function asLogged({ line, event }: Recorded): Recorded {
  return { line, event: toLogged(event) };
}
