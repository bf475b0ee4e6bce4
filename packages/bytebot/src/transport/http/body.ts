import type { IncomingMessage } from "node:http";

/**
 * Hands over a message's body as it comes, without an iterator, which costs more than most bodies; resolves at its end.
 * Rejects where it breaks before, and with what `take` throws: then the rest is left unread.
 */
export function takeBody(message: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const broken = (error?: Error): void => reject(error ?? new Error("the connection closed in mid-message"));
  if (message.destroyed) {
    broken(message.errored ?? undefined);
    return promise;
  }
  const taken = (chunk: Buffer): void => {
    try {
      take(chunk);
    } catch (error) {
      message.off("data", taken).pause();
      reject(error as Error);
    }
  };
  message.on("data", taken);
  message.once("end", resolve);
  message.once("error", broken);
  message.once("close", () => broken());
  return promise;
}
