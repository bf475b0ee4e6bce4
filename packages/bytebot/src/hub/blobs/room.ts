import { BytebotError } from "../../wire/index.ts";
import type { Core } from "../core.ts";

/** Throws `overloaded` where `busy` blobs are as many as may be on their way at one connection (rule BLB-4). */
export function mustHaveRoom({ limits: { blobTransfers } }: Core, busy: number): void {
  if (busy < blobTransfers) return;
  const message = `${blobTransfers} blobs are on their way at this connection: wait for one of them`;
  throw new BytebotError("overloaded", message, { retryable: true });
}
