import { as, BytebotError, decode, wide } from "../../wire/index.ts";

/** A refused request as an error; what the other side is only too busy for may be tried again. */
export function refusal(url: URL, status: number, text: string): BytebotError {
  const retryable = status === 429 || status >= 500;
  try {
    const { code, message, ...rest } = as("bb_error", decode(Buffer.from(text.trimEnd()), wide));
    const again = retryable || rest.retryable;
    return BytebotError.fromWire({ ...rest, code, message: `${url.href}: ${message}`, retryable: again });
  } catch {
    // Not ours: a proxy, or another server. Its status says what is known.
  }
  const code =
    status === 401 ? "unauthorized" : status === 403 ? "forbidden" : status === 404 ? "not_found" : "unavailable";
  return new BytebotError(code, `${url.href} answered with HTTP status ${status}`, { retryable });
}

/** A server answered that does not speak the wire. */
export function notOurs(url: URL, what: string): BytebotError {
  return new BytebotError("unavailable", `${url.href} answered with ${what}: is the URL right?`);
}
