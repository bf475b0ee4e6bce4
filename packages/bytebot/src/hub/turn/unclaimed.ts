import type { Event } from "../../wire/index.ts";

/**
 * An input without what the log says of one, and the Hub alone (rule ENV-6): who waits for its turn (see `turnRequest`), of
 * which loop it is, where an interrupt has been.
 */
export function unclaimed<Sent extends Event>(event: Sent): Sent {
  const { request_id: _, call_id: __, loop_id: ___, round: ____, attempt: _____, reached: ______, ...own } = event;
  return own as Sent;
}
