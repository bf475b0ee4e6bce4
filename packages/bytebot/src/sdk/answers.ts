import { BytebotError, errorCodes, type Event } from "../wire/index.ts";

/** How long a cancelled piece of work may take to say what it did. */
const GRACE_MS = 500;

/** A request of the Hub's and how this side serves it. */
export interface Work {
  /** What `bb_cancel` targets: the request's id, or the call's. */
  key: string;
  /** Resolves with the answer, or undefined where it was sent otherwise. */
  run(stop: Stop): Promise<Event | undefined>;
  /** The answer where `run` failed. */
  failed(error: BytebotError): Event;
}

/** How a piece of work learns that it has to stop: most never ask, and a signal costs more than many of them. */
export class Stop {
  reason: BytebotError | undefined;
  /** Called before any listener of the signal's. */
  heard: (() => void) | undefined;
  private controller: AbortController | undefined;

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  abort(reason: BytebotError): void {
    this.reason ??= reason;
    this.heard?.();
    this.controller?.abort(reason);
  }
}

interface Open {
  cancel(reason: BytebotError): void;
  drop(reason: BytebotError): void;
}

/** The Hub's requests in flight: each runs once and gets exactly one answer. */
export class Answers {
  private readonly open = new Map<string, Open>();
  private readonly send: (event: Event) => void;

  constructor(send: (event: Event) => void) {
    this.send = send;
  }

  serve(work: Work): void {
    const { key } = work;
    if (this.open.has(key)) return;
    const stop = new Stop();
    let timer: NodeJS.Timeout | undefined;
    const settle = (answer: Event | undefined) => {
      if (this.open.get(key) !== open) return;
      this.open.delete(key);
      clearTimeout(timer);
      if (answer) this.answer(work, answer);
    };
    const open: Open = {
      cancel: (reason) => {
        if (stop.reason) return;
        timer = setTimeout(() => settle(work.failed(unsettled(reason))), GRACE_MS);
        stop.abort(reason);
      },
      drop: (reason) => {
        clearTimeout(timer);
        stop.abort(reason);
      },
    };
    this.open.set(key, open);
    work.run(stop).then(settle, (thrown: unknown) => settle(work.failed(failure(thrown, stop.reason, key))));
  }

  /** A target that is not in flight here was answered already. */
  cancel(target: unknown, reason: unknown): void {
    if (typeof target !== "string") return;
    const why = typeof reason === "string" ? reason : "the Hub asked to stop";
    this.open.get(target)?.cancel(new BytebotError("cancelled", `cancelled: ${why}`));
  }

  /** The connection is gone: everything is told to stop, and nothing can be answered. */
  close(reason: BytebotError): void {
    const open = [...this.open.values()];
    this.open.clear();
    for (const one of open) one.drop(reason);
  }

  private answer(work: Work, answer: Event): void {
    try {
      this.send(answer);
    } catch (error) {
      // What was returned cannot cross the wire; saying so can.
      this.send(work.failed(BytebotError.from(error)));
    }
  }
}

function unsettled(reason: BytebotError): BytebotError {
  return new BytebotError(
    "cancelled",
    `${reason.message}; it did not end within ${GRACE_MS} ms, so whether it took effect is unknown`,
  );
}

/** What crosses the wire for a failed piece of work. After a cancel it is `cancelled`, in the words of whoever stopped. */
function failure(thrown: unknown, stopped: BytebotError | undefined, key: string): BytebotError {
  const own = asBytebotError(thrown);
  if (stopped) return new BytebotError("cancelled", own?.message ?? stopped.message);
  if (own) return own;
  console.error(`bytebot: ${key} failed:`, thrown);
  return new BytebotError("internal", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}

/** Also one of another copy of this package. */
function asBytebotError(thrown: unknown): BytebotError | undefined {
  if (thrown instanceof BytebotError) return thrown;
  const like = thrown as Partial<BytebotError> | null;
  if (typeof like !== "object" || like?.name !== "BytebotError" || typeof like.message !== "string") return undefined;
  const code = errorCodes.find((known) => known === like.code) ?? "internal";
  return new BytebotError(code, like.message, { ...like, cause: thrown });
}
