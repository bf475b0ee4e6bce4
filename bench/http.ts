/** What the measures over HTTP share: children that serve, and the least that a request or a stream can cost. */
import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { readLines, startChild } from "./lines.ts";

/** A child that serves HTTP: its first line says at which URL; `next` is what it says next. It ends as any child does. */
export async function startServer(name: string, signal: AbortSignal, ...options: string[]) {
  const child = startChild(name, signal, ...options);
  let waiting: (value: unknown) => void = () => {};
  const next = <T>() => new Promise<T>((resolve) => (waiting = resolve as (value: unknown) => void));
  readLines<unknown>(child.stdout, (value) => waiting(value));
  try {
    const { url } = await Promise.race([next<{ url: string }>(), child.gone]);
    return { ...child, url, next };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

/** Requests with node:http alone, over sockets that are kept. */
export function openClient(url: string) {
  const agent = new Agent({ keepAlive: true });
  return {
    async send(path: string, body?: string): Promise<IncomingMessage> {
      const sent = request(new URL(path, url), { agent, method: body === undefined ? "GET" : "POST" });
      sent.end(body);
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      return response;
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
