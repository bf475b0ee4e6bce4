import type { ErrorCode } from "../../wire/index.ts";

/** Ties a connection's stream and inbox together: an id that the side minted which dials a satellite, or the Hub (rule HTP-3). */
export const CONNECTION = "bytebot-connection";
/** How many events of this connection's stream have arrived: it goes on after them (rule HTP-7). */
export const RECEIVED = "bytebot-received";
/** Counts a connection's inbox requests from 1: the newest may be sent again, and is not done again (rule HTP-8). */
export const BATCH = "bytebot-batch";

export const NDJSON = "application/x-ndjson";
export const SSE = "text/event-stream";

/** Is this a content type of lines of JSON? */
export function isLines(type: string): boolean {
  return /^application\/(?:x-ndjson|json|jsonl|x-jsonlines) *(?:;|$)/i.test(type);
}

/** Both sides: a stream that is silent for so long says that it lives, in milliseconds (rule HTP-9). */
export const HEARTBEAT_MS = 15_000;
/** Without a sign of life for so long a stream is taken for broken. */
export const SILENT_MS = 35_000;
/** How long a connection outlives its sockets (rule HTP-6). */
export const RETURN_MS = 10_000;

/** What may wait for a peer that is away or slow, in characters: then the connection is given up. */
export const MAX_UNSENT = 64 * 1024 * 1024;

const statuses: Partial<Record<ErrorCode, number>> = {
  parse_error: 400,
  invalid_event: 400,
  invalid_params: 400,
  not_synced: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  cursor_expired: 410,
  too_large: 413,
  overloaded: 429,
  unavailable: 503,
  timeout: 504,
};

/** The HTTP status of a request that is refused with this code. */
export function statusOf(code: ErrorCode): number {
  return statuses[code] ?? 500;
}
