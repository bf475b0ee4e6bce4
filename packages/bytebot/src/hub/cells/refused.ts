import type { BytebotError, Event } from "../../wire/index.ts";
import type { Batch, ConnectionId } from "../effects.ts";

/** Nothing of these batches happened: what those are told who wait for an answer that is in them (rule LOG-4). */
export function* refusals(
  batches: readonly Batch[],
  error: BytebotError,
  ts: number,
): Iterable<{ to: ConnectionId; event: Event }> {
  const why = error.toWire();
  for (const effect of batches.flatMap(({ effects }) => effects)) {
    if (effect.type === "ack")
      yield { to: effect.to, event: { event_type: "bb_error", in_reply_to: effect.inReplyTo, ...why, ts } };
    const isAnswer = effect.type === "send" || effect.type === "wiped";
    if (!isAnswer || effect.event["success"] === undefined) continue;
    const plus = effect.type === "send" ? effect.plus : {};
    const { event_type, in_reply_to, scope }: Event = { ...effect.event, ...plus };
    yield { to: effect.to, event: { event_type, in_reply_to, scope, success: false, error: why, ts } };
  }
}
