import { BytebotError, type Event } from "../wire/index.ts";
import type { HubOptions } from "./options.ts";
import type { Synced } from "./state.ts";

/** What only the app can do is done by it, and answered either way. Never rejects. `asker`: undefined where it has gone. */
export async function control(
  { control: carryOut }: HubOptions,
  asker: Synced | undefined,
  event: Event,
): Promise<Event> {
  const result = { event_type: `${event.event_type}_result`, in_reply_to: String(event["id"]) };
  try {
    if (!carryOut) throw new BytebotError("unavailable", `${event.event_type}: this Hub has no app to carry it out`);
    if (!asker) throw new BytebotError("unavailable", `${event.event_type}: whoever asked is gone`);
    const { id: connection, offer, grant } = asker;
    return { ...(await carryOut(event, { connection, componentId: offer.componentId, grant })), ...result };
  } catch (error) {
    return { ...result, success: false, error: BytebotError.from(error).toWire() };
  }
}
