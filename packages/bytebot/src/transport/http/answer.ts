import type { ServerResponse } from "node:http";
import { BytebotError, encode } from "../../wire/index.ts";
import { NDJSON, statusOf } from "./headers.ts";

/** Answers a request with lines, once. */
export function answer(response: ServerResponse, status: number, lines: string): void {
  if (response.destroyed || response.headersSent) return;
  const length = Buffer.byteLength(lines);
  response.writeHead(status, { "content-type": NDJSON, "cache-control": "no-store", "content-length": length });
  response.end(lines);
}

/** A refused request as the line it is answered with. */
export function errorLine(error: BytebotError): string {
  return encode({ event_type: "bb_error", ...error.toWire() });
}

/** Refuses the request with the status of the error's code. */
export function refuse(response: ServerResponse, error: BytebotError): void {
  if (error.code === "unauthorized" && !response.headersSent) response.setHeader("www-authenticate", "Bearer");
  if (error.retryAfterMs !== undefined && !response.headersSent)
    response.setHeader("retry-after", Math.ceil(error.retryAfterMs / 1000));
  answer(response, statusOf(error.code), errorLine(error));
}

/** A request that is none of these: what it was, in the body. */
export function refuseForm(response: ServerResponse, status: 404 | 405 | 415, message: string): void {
  answer(response, status, errorLine(new BytebotError(status === 404 ? "not_found" : "invalid_params", message)));
}
