import { BytebotError, isKnown, isPrincipal, type Event } from "../wire/index.ts";
import type { Synced } from "./state.ts";

/** What a person does; and vendor events, which are shown as they came. */
const PERSONAL = new Set([
  ...["user_event", "interrupt", "input_reply", "bb_turn_request", "bb_tool_call_request"],
  ...["bb_attach", "bb_detach", "bb_policy", "bb_token", "bb_rename", "bb_delete"],
]);

/**
 * The event with who its person is: by the connection's grant, or by the sender's own word where it vouches for its people
 * (rule PRN-2). Throws `forbidden` where it says what is not its to say.
 */
export function withPrincipal({ grant, offer }: Synced, event: Event): Event {
  const { event_type: type, principal: said } = event;
  if (!PERSONAL.has(type) && isKnown(type)) return event;
  const { principal, vouches } = grant;
  if (said === undefined) return principal === undefined ? event : { ...event, principal };
  if (!isPrincipal(said)) throw new BytebotError("invalid_event", `"principal": not 1 to 128 printable characters`);
  if (said === principal || vouches) return event;
  const own = principal === undefined ? "has no principal" : `is "${principal}"`;
  throw new BytebotError(
    "forbidden",
    `${type} says it comes from "${said}", and ${offer.name} ${own}: only a component that the app lets vouch for people says who they are`,
  );
}
