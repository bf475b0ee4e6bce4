import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

const CHANNEL = "undici:client:sendHeaders";
const LOOK_MS = 10;

/** The connections that requests of this process to one server go over while this listens, as its `fetch` tells them. */
export class Connections implements Disposable {
  private readonly sockets = new Set<Socket>();
  private readonly origin: string | undefined;

  /** Without a URL nothing is seen. */
  constructor(baseUrl: string | undefined) {
    this.origin = baseUrl === undefined ? undefined : new URL(baseUrl).origin;
    subscribe(CHANNEL, this.hear);
  }

  get seen(): number {
    return this.sockets.size;
  }

  /** How many are still open, after `ms` milliseconds at most. */
  async open(ms: number): Promise<number> {
    const until = performance.now() + ms;
    for (;;) {
      const open = [...this.sockets].filter(({ destroyed }) => !destroyed).length;
      if (open === 0 || performance.now() >= until) return open;
      await wait(LOOK_MS);
    }
  }

  [Symbol.dispose](): void {
    unsubscribe(CHANNEL, this.hear);
  }

  private readonly hear = (message: unknown): void => {
    const { request, socket } = message as { request: { origin: unknown }; socket: Socket };
    if (String(request.origin) === this.origin) this.sockets.add(socket);
  };
}
