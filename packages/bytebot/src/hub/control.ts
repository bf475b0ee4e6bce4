import { BytebotError, type Event } from "../wire/index.ts";
import type { ConnectionId } from "./effects.ts";
import type { HubOptions } from "./options.ts";

/** What only the app can do is done by it, and answered either way. Never rejects. */
export async function control({ control: carryOut }: HubOptions, to: ConnectionId, event: Event): Promise<Event> {
  const result = { event_type: `${event.event_type}_result`, in_reply_to: String(event["id"]) };
  try {
    if (!carryOut) throw new BytebotError("unavailable", `${event.event_type}: this Hub has no app to carry it out`);
    return { ...(await carryOut(event, to)), ...result };
  } catch (error) {
    return { ...result, success: false, error: BytebotError.from(error).toWire() };
  }
}
