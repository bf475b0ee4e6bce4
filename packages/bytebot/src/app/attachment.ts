import { setTimeout as sleep } from "node:timers/promises";
import { offer, type Attached, type Ended, type Hub, type Offer } from "../hub/index.ts";
import { BytebotError } from "../wire/index.ts";
import type { Reached } from "./reached.ts";

/** Five crashes in five minutes, and it is left alone. */
const CRASHES = 5;
const CRASH_WINDOW_MS = 5 * 60_000;
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 10_000;
/** From start to the handshake's end, a slow interpreter's start included. */
const READY_MS = 30_000;
/** What a `main` in this process may take to end after its connection has. */
const LEAVE_MS = 1000;

/** One attached component: the same id through every restart of its process. */
export class Attachment {
  readonly id: string;
  readonly name: string;
  /** Settles when the component has synced for the first time; rejects where it could not. */
  readonly ready: Promise<void>;
  /** Settles when it has ended and will not be started again: why, and the error its `main` ended with. */
  readonly ended: Promise<{ reason: string; error?: BytebotError }>;
  private readonly settle = Promise.withResolvers<{ reason: string; error?: BytebotError }>();
  private readonly stopping = new AbortController();
  private readonly hub: Hub;
  private readonly reached: Reached;
  private readonly offer: Offer;
  private readonly report: (line: string) => void;
  private current: Attached | undefined;
  private crashes: number[] = [];

  constructor(
    hub: Hub,
    reached: Reached,
    fields: Partial<Offer> & { componentId: string },
    report: (line: string) => void,
  ) {
    this.hub = hub;
    this.reached = reached;
    this.report = report;
    this.id = fields.componentId;
    this.name = reached.name;
    this.offer = offer({
      ...fields,
      name: reached.name,
      ...(reached.kind === undefined ? {} : { kind: reached.kind }),
    });
    this.ended = this.settle.promise;
    this.ready = this.connect();
    this.ready.then(
      () => this.watch(),
      // The error itself goes to whoever waits for `ready`.
      (error: unknown) => this.settle.resolve({ reason: BytebotError.from(error).message }),
    );
  }

  async stop(reason: string): Promise<void> {
    this.stopping.abort(new BytebotError("cancelled", reason));
    await this.current?.close(reason);
    this.settle.resolve({ reason });
    this.hub.forget(this.id);
  }

  private async connect(): Promise<void> {
    const attached = await this.hub.connect(this.offer, this.reached.connect, this.stopping.signal);
    this.current = attached;
    const tooLong = new AbortController();
    const late = sleep(READY_MS, undefined, { signal: tooLong.signal, ref: false }).then(() => {
      const missing = this.offer.kind === "toolsource" ? "bb_sync and bb_tool_register" : "bb_sync";
      throw new BytebotError(
        "timeout",
        `${this.name} did not send ${missing} within ${READY_MS / 1000} s of its start`,
      );
    });
    late.catch(() => undefined);
    try {
      await Promise.race([attached.ready, late]);
    } catch (error) {
      await attached.close(BytebotError.from(error).message);
      throw error;
    } finally {
      tooLong.abort();
    }
  }

  /** Starts a crashed child again, with growing waits, until it crashes too often. */
  private async watch(): Promise<void> {
    for (;;) {
      const ended = await this.current!.closed;
      if (this.stopping.signal.aborted || !this.isExpectedBack(ended)) return this.finish(ended);
      this.report(`${this.name} ended: ${ended.reason}`);
      if (!(await this.again())) return this.finish(ended);
    }
  }

  /** What runs elsewhere says bye also where it is only restarted there; a UI is done then. */
  private isExpectedBack({ expected }: Ended): boolean {
    const { restartable, remote, kind } = this.reached;
    return expected ? remote === true && kind !== "ui" : restartable;
  }

  private async again(): Promise<boolean> {
    let told = "";
    for (;;) {
      const now = Date.now();
      this.crashes = [...this.crashes.filter((at) => now - at < CRASH_WINDOW_MS), now];
      // What runs elsewhere is not ours to mend: it is waited for, until it is detached.
      if (this.reached.remote !== true && this.crashes.length >= CRASHES) {
        this.report(
          `${this.name} crashed ${CRASHES} times in ${CRASH_WINDOW_MS / 60_000} minutes and is left alone: mend it, then attach it again`,
        );
        return false;
      }
      const wait = Math.min(FIRST_WAIT_MS * 2 ** (this.crashes.length - 1), LAST_WAIT_MS);
      try {
        await sleep(wait, undefined, { signal: this.stopping.signal });
        await this.connect();
        return true;
      } catch (error) {
        if (this.stopping.signal.aborted) return false;
        const what = this.reached.remote === true ? "reached" : "started";
        const failed = `${this.name} could not be ${what} again: ${BytebotError.from(error).message}`;
        if (failed !== told) this.report(failed);
        told = failed;
      }
    }
  }

  /** A `main` may close its connection and fail after that: what it threw is waited for, not for ever. */
  private async finish({ reason }: Ended): Promise<void> {
    this.hub.forget(this.id);
    const waited = new AbortController();
    const late = sleep(LEAVE_MS, undefined, { signal: waited.signal }).catch(() => undefined);
    const error = await Promise.race([this.reached.outcome, late]);
    waited.abort();
    this.settle.resolve({ reason, ...(error ? { error } : {}) });
  }
}
