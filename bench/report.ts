/**
 * How the child that drives the load tells run.ts its figure: over a loopback socket of its own, so that the wire
 * carries nothing but the work. It sends `begin` after the warm-up, then `figure` or `error`.
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { readLines } from "./lines.ts";
import type { Figure } from "./work.ts";

type Report = { begin: true } | { figure: Figure } | { error: string };

/** Opens the receiving end. Hand `port` to the child; `figure` settles with what it reports, or rejects. */
export async function openReport(begin: () => void, signal: AbortSignal) {
  const { promise: figure, resolve, reject } = Promise.withResolvers<Figure>();
  figure.catch(() => {}); // the Hub may fail to start before anyone waits on it
  const server = createServer((socket) => {
    readLines<Report>(socket, (report) => {
      if ("begin" in report) begin();
      else if ("figure" in report) resolve(report.figure);
      else reject(new Error(report.error));
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the child that drives the load ended before it reported")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const late = () => reject(signal.reason);
  signal.addEventListener("abort", late);
  return {
    port: (server.address() as AddressInfo).port,
    figure,
    async [Symbol.asyncDispose]() {
      signal.removeEventListener("abort", late);
      server.close();
      await once(server, "close");
    },
  };
}

/** Runs the work in the child and reports on it. Rejects with the work's own error after it was reported. */
export async function reportTo(port: unknown, work: (begin: () => void) => Promise<Figure>): Promise<void> {
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  const send = (report: Report) => socket.write(JSON.stringify(report) + "\n");
  try {
    send({ figure: await work(() => send({ begin: true })) });
  } catch (error) {
    send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    throw error;
  } finally {
    socket.end();
  }
}
