import type { IncomingMessage } from "node:http";

/**
 * Hands over a message's body as it comes, without an iterator, which costs more than most bodies; resolves at its end.
 * Rejects where it breaks before, and with what `take` throws: then the rest is left unread.
 */
export function takeBody(message: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const closed = (): void => {
    // After its end an error of its own would be made for nothing.
    if (message.readableEnded) resolve();
    else reject(message.errored ?? new Error("the connection closed in mid-message"));
  };
  if (message.destroyed) {
    closed();
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
  message.once("error", reject);
  message.once("close", closed);
  return promise;
}
