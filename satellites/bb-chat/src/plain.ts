import { randomUUID } from "node:crypto";
import { addAbortSignal, type Readable } from "node:stream";
import { BytebotError, printableExactly, type EventOf, type Satellite } from "bytebot/sdk";
import { AnswerText } from "./answer-text.ts";
import type { Item } from "./items.ts";
import type { Options } from "./options.ts";
import { oneLine, printable } from "./printable.ts";
import { newView, type View } from "./state.ts";
import { reduce, shownTypes, type Act, type Shown } from "./view.ts";

const MOST_LINE = 1024 * 1024;
const SHORT = 120;

type LoopDone = Extract<EventOf<"infer_chunk">, { kind: "loop_done" }>;

/**
 * Without a terminal: `once`, or each line of stdin, is one turn. The answer's text goes to stdout as it comes (with
 * `json` every event, a line each), all else to stderr. Rejects with BytebotError where a turn did not end well, and
 * with `unavailable` where the connection ended before it.
 */
export async function plain(satellite: Satellite, options: Options): Promise<void> {
  const turns = new Turns(satellite, options);
  const broken = () => void satellite.close("nobody reads the answer: stdout was closed");
  process.stdout.on("error", broken);
  if (options.banner !== "") process.stderr.write(`${printable(options.banner)}\n`);
  for (const type of shownTypes) satellite.on(type, (event) => turns.show(event));
  const ended = satellite.start().then((reason) => turns.ended(reason));
  try {
    if (options.once !== undefined) await turns.turn(options.once);
    else
      for await (const line of lines(process.stdin, satellite.signal)) if (line.trim() !== "") await turns.turn(line);
  } finally {
    await satellite.close("done");
    await ended;
    process.stdout.off("error", broken);
  }
}

/** One turn after the other, told from the view: it knows which input is being answered. */
class Turns {
  private view: View;
  private readonly satellite: Satellite;
  private readonly options: Options;
  private readonly text = new AnswerText();
  /** Our input is the one being answered. */
  private answering = false;
  private idle = true;
  private done: LoopDone | undefined;
  private lastError = "";
  /** That calls could be approved was said. */
  private hinted = false;
  private closed: string | undefined;
  private readonly waiting = new Set<() => void>();

  constructor(satellite: Satellite, options: Options) {
    this.satellite = satellite;
    this.options = options;
    this.view = newView(options.scope);
  }

  async turn(text: string): Promise<void> {
    await this.until(() => this.idle);
    const id = `u_${randomUUID()}`;
    this.done = undefined;
    this.idle = false;
    this.apply({ act: "send", id, text });
    this.satellite.sendUserEvent(this.options.scope, text, { id }).then(
      ({ fate }) => this.apply({ act: "fate", id, fate }),
      (error: unknown) => this.apply({ act: "failed", id, reason: BytebotError.from(error).message }),
    );
    const waits = () => this.answering || this.view.waiting.some((input) => input.id === id);
    await this.until(() => this.done !== undefined || !waits());
    this.check();
  }

  show(event: Shown): void {
    if (this.options.json) process.stdout.write(`${printable(JSON.stringify(event))}\n`);
    const before = this.view.round;
    this.apply(event);
    if (event.event_type === "input_strict") this.answer(event);
    if (event.event_type !== "infer_chunk" || event.scope !== this.options.scope || !this.answering) return;
    if (!this.options.json) this.text.show(event, before, this.view.round);
    if (event.kind !== "loop_done") return;
    this.done = event;
    this.answering = false;
  }

  ended(reason: string): void {
    this.closed = reason;
    this.wake();
  }

  private apply(event: Shown | Act): void {
    this.view = reduce(this.view, event);
    const { finished } = this.view;
    this.view = reduce(this.view, { act: "printed" });
    for (const item of finished) this.print(item);
    if ("event_type" in event && event.event_type === "scope_state" && event.scope === this.options.scope) {
      this.idle = event.state === "idle";
    }
    queueMicrotask(() => this.wake());
  }

  private print(item: Item): void {
    if (item.type === "user" && item.mine) this.answering = true;
    if (item.type === "error") this.lastError = item.text;
    if (item.type !== "call" || this.options.json) return;
    const { call, status, result } = item;
    process.stderr.write(
      `${oneLine(call.name, 64)}(${call.args}) → ${oneLine(status, 20)}: ${oneLine(result, SHORT)}\n`,
    );
  }

  /** Nobody is here: what the policy asks about is approved where the person said so, and the rest is declined. */
  private answer(question: EventOf<"input_strict">): void {
    // Other conversations have people of their own.
    const { scope } = this.options;
    if (question.scope !== scope && !question.scope.startsWith(`${scope}/~`)) return;
    // As a guest we say yes to what our own turn asks, not to what others have begun.
    if (this.options.guest && !this.answering) return;
    const { approval, prompt, options } = question;
    const asked = approval ? printableExactly(`may ${approval.name} run? ${startOf(approval.input)}`) : prompt;
    const approve = this.options.yes && approval !== undefined && options?.includes("once") === true;
    const why = approve ? "approved, as you said yes to all" : "declined, as nobody is here to answer";
    process.stderr.write(`${why}: ${oneLine(asked, SHORT)}\n`);
    if (approval && !approve && !this.hinted) process.stderr.write("(--yes approves what the policy asks about)\n");
    this.hinted ||= approval !== undefined;
    const answered = approve
      ? this.satellite.answer(question, "accepted", "once")
      : this.satellite.answer(question, "declined");
    answered.catch((error: unknown) => {
      // Another screen was first.
      if (error instanceof BytebotError && error.code === "not_found") return;
      process.stderr.write(`the question stays open: ${printable(BytebotError.from(error).message)}\n`);
    });
  }

  /** Throws where the turn that is over did not end well. */
  private check(): void {
    if (!this.done) throw new BytebotError("unavailable", this.lastError);
    const { stop_reason, error } = this.done;
    if (error) throw BytebotError.fromWire(error);
    if (stop_reason === "interrupted")
      throw new BytebotError("cancelled", "the turn was interrupted before its answer was whole");
    if (stop_reason === "error") throw new BytebotError("internal", "the turn failed, and the Hub did not say why");
    if (stop_reason === "max_tokens") process.stderr.write("the answer was cut at the model's token limit\n");
    if (stop_reason === "refusal") process.stderr.write("the model declined to answer\n");
  }

  private async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.closed !== undefined) {
        throw new BytebotError("unavailable", `the connection to the Hub ended before the answer: ${this.closed}`);
      }
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}

/** More of a value, as JSON, than is shown of it: it may be megabytes. */
function startOf(input: unknown): string {
  return (JSON.stringify(input) ?? "").slice(0, 10 * SHORT);
}

/** The lines of a stream, split at the newline alone; ends when the signal aborts. */
async function* lines(stream: Readable, signal: AbortSignal): AsyncGenerator<string> {
  let rest = "";
  addAbortSignal(signal, stream.setEncoding("utf8"));
  try {
    for await (const chunk of stream as AsyncIterable<string>) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      if (rest.length > MOST_LINE)
        throw new BytebotError("too_large", `a line of stdin is longer than ${MOST_LINE} characters`);
      yield* parts.map((line) => line.replace(/\r$/, ""));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw signal.reason;
  }
  if (rest !== "") yield rest;
}
