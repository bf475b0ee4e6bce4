/** Every `code` of a `bb_error` and of the `error` in a `success:false` (spec rule ERR-1). */
export const errorCodes = [
  "parse_error",
  "invalid_event",
  "unknown_type",
  "invalid_params",
  "not_synced",
  "unsupported_version",
  "unauthorized",
  "forbidden",
  "not_found",
  "not_authority",
  "conflict",
  "cursor_expired",
  "too_large",
  "overloaded",
  "timeout",
  "unavailable",
  "cancelled",
  "loop_limit",
  "budget_exceeded",
  "internal",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** The `error` of a `success:false` event, and the body of a `bb_error`. `retry_after_ms` in milliseconds. */
export interface WireError {
  code: string;
  message: string;
  retryable: boolean;
  retry_after_ms?: number | undefined;
  data?: unknown;
}

export interface ErrorOptions {
  retryable?: boolean;
  retryAfterMs?: number | undefined;
  data?: unknown;
  cause?: unknown;
}

/** The one error class of the project: what is thrown here is what crosses the wire, and the other way round. */
export class BytebotError extends Error {
  override readonly name = "BytebotError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly data: unknown;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.data = options.data;
  }

  toWire(): WireError {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.retryAfterMs === undefined ? {} : { retry_after_ms: this.retryAfterMs }),
      ...(this.data === undefined ? {} : { data: this.data }),
    };
  }

  /** An unknown code from a newer peer becomes `internal`: it never means anything milder (rule ENV-9). */
  static fromWire(error: WireError): BytebotError {
    const known = (errorCodes as readonly string[]).includes(error.code);
    return new BytebotError(known ? (error.code as ErrorCode) : "internal", error.message, {
      retryable: error.retryable,
      retryAfterMs: error.retry_after_ms,
      data: error.data,
    });
  }

  /** Whatever was thrown, as one of ours; the cause is kept for the log and never sent. */
  static from(thrown: unknown, code: ErrorCode = "internal"): BytebotError {
    if (thrown instanceof BytebotError) return thrown;
    if (thrown instanceof Error && thrown.name === "AbortError") {
      return new BytebotError("cancelled", thrown.message, { cause: thrown });
    }
    return new BytebotError(code, thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}
