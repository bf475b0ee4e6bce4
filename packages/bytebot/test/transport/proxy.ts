import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Proxy {
  port: number;
  /** Nothing passes until what this returns is called. */
  stall(): () => void;
  /** Breaks every connection that is open, as a network does. */
  cut(): void;
  /** Connections made so far. */
  readonly made: number;
  close(): Promise<void>;
}

/** A network between two ends that a test can hold up and break. */
export async function proxy(to: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let stalled = false;
  let made = 0;
  const server = createServer((near) => {
    made++;
    const far = connect(to, "127.0.0.1");
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => into.destroy());
      from.on("close", () => {
        sockets.delete(from);
        into.destroy();
      });
      from.on("data", (bytes) => {
        if (!into.write(bytes)) from.pause();
      });
      from.on("end", () => into.end());
      into.on("drain", () => {
        if (!stalled) from.resume();
      });
      if (stalled) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      stalled = true;
      for (const socket of sockets) socket.pause();
      return () => {
        stalled = false;
        for (const socket of sockets) socket.resume();
      };
    },
    cut,
    get made() {
      return made;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}
