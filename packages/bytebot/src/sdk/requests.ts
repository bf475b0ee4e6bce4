import { BytebotError, type Event, type WireError } from "../wire/index.ts";

export interface RequestOptions {
  /** Milliseconds; default 30,000. Infinity: no deadline of its own. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;

interface Pending {
  type: string;
  settle(event: Event): void;
  fail(error: BytebotError): void;
}

/** The requests of this side that wait for their answer, by id. */
export class Requests {
  private readonly pending = new Map<string, Pending>();

  /** Resolves with the event that answers `id`; rejects with its `bb_error`, `timeout`, `cancelled` or `unavailable`. */
  wait(type: string, id: string, options: RequestOptions = {}): Promise<Event> {
    const { timeoutMs = TIMEOUT_MS, signal } = options;
    if (this.pending.has(id)) {
      return Promise.reject(new BytebotError("conflict", `a request with the id ${id} is in flight: use a fresh id`));
    }
    if (signal?.aborted) return Promise.reject(cancelled(signal));
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.pending.delete(id);
      };
      const fail = (error: BytebotError) => {
        end();
        reject(error);
      };
      const settle = (event: Event) => {
        end();
        resolve(event);
      };
      const late = `no answer to ${type} within ${timeoutMs} ms`;
      const expire = () => fail(new BytebotError("timeout", late, { retryable: true }));
      const timer = Number.isFinite(timeoutMs) ? setTimeout(expire, timeoutMs) : undefined;
      const abort = () => fail(cancelled(signal));
      signal?.addEventListener("abort", abort, { once: true });
      this.pending.set(id, { type, settle, fail });
    });
  }

  /** Was this the answer to one of them? */
  settle(event: Event): boolean {
    const pending = typeof event["in_reply_to"] === "string" ? this.pending.get(event["in_reply_to"]) : undefined;
    if (!pending) return false;
    if (event.event_type === "bb_error") pending.fail(BytebotError.fromWire(event as unknown as WireError));
    // A control request is acknowledged on some connections before its result comes.
    else if (event.event_type !== "bb_ack" || !pending.type.startsWith("bb_")) pending.settle(event);
    return true;
  }

  close(error: BytebotError): void {
    for (const pending of [...this.pending.values()]) pending.fail(error);
  }
}

/** An aborted signal as an error of the wire. */
export function cancelled(signal: AbortSignal | undefined): BytebotError {
  const reason: unknown = signal?.reason;
  if (reason instanceof BytebotError) return reason;
  return new BytebotError("cancelled", reason instanceof Error ? reason.message : "aborted by the caller");
}
