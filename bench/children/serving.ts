/** How a child of the HTTP measures says where it serves, and when it ends. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export const tell = (url: string) => process.stdout.write(JSON.stringify({ url }) + "\n");

/** Aborts when whoever started this process ends its stdin. */
export function untilTold(): AbortSignal {
  const told = new AbortController();
  process.stdin.resume();
  process.stdin.once("end", () => told.abort());
  return told.signal;
}

/** Listens on loopback until then. */
export async function listen(server: Server): Promise<void> {
  const end = untilTold();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  end.addEventListener("abort", () => {
    server.close();
    server.closeAllConnections();
  });
  tell(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
