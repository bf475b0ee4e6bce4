/** What the measures over HTTP share: children that serve, and the least that a request or a stream can cost. */
import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { readLines, startChild } from "./lines.ts";

/** A child that serves HTTP: it says at which URL in its first line, and ends as any child does. */
export async function startServer(name: string, signal: AbortSignal, ...options: string[]) {
  const child = startChild(name, signal, ...options);
  const said = Promise.withResolvers<string>();
  readLines<{ url: string }>(child.stdout, ({ url }) => said.resolve(url));
  try {
    return { ...child, url: await Promise.race([said.promise, child.gone]) };
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
