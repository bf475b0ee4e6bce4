import { BytebotError } from "bytebot/sdk";
import type { Provider } from "./provider.ts";

/** A model that is opened when it is first asked for, once for all who ask; after a failure, again. */
export class Opened {
  private readonly begin: (signal: AbortSignal) => Promise<Provider>;
  private readonly closing = new AbortController();
  private opening: Promise<Provider> | undefined;

  /** `begin` is stopped by its signal where the model is closed meanwhile. */
  constructor(begin: (signal: AbortSignal) => Promise<Provider>) {
    this.begin = begin;
  }

  /** Rejects as `begin` does; `cancelled` after `close`. */
  get(): Promise<Provider> {
    if (!this.opening) {
      const { signal } = this.closing;
      const opening = signal.aborted ? Promise.reject(signal.reason as Error) : this.begin(signal);
      this.opening = opening;
      opening.catch(() => {
        if (this.opening === opening) this.opening = undefined;
      });
    }
    return this.opening;
  }

  async close(): Promise<void> {
    this.closing.abort(new BytebotError("cancelled", "the model was closed before it was opened"));
    const provider = await this.opening?.catch(() => undefined);
    await provider?.close();
  }
}
