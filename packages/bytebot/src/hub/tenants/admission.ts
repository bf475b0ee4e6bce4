import { BytebotError, tenantOf, type Event } from "../../wire/index.ts";
import { missed } from "../turn/blocks.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import { tenantsOf } from "./quotas.ts";
import type { Connection, Synced } from "../state.ts";

/** Events of one connection that may be refused: so many at once, and so many more in each second. */
export const MAX_FAULTS = 1000;
export const FAULTS_A_SECOND = 50;

/** What the Hub asked for, the connection's own, and bytes, which have limits of their own: not counted as input (rule QTA-3). */
const UNCOUNTED = new Set(
  "infer_chunk bb_infer_result bb_context_render_result bb_tool_call_result bb_tool_register bb_ack bb_error bb_pong bb_bye bb_blob".split(
    " ",
  ),
);

/**
 * A tenant sends so many events in a second, whoever sends them for it. What names another's scope or call counts to the
 * sender's own: it takes nothing of that one's room, nor learns whether there is any (rules QTA-3 and SCP-7).
 */
export function mustHaveRate(core: Core, connection: Synced, event: Event): void {
  if (UNCOUNTED.has(event.event_type)) return;
  const at = placeOf(core, connection, event);
  const [own] = at === undefined ? tenantsOf(connection.grant.scopes) : [tenantOf(at)];
  const wait = own === undefined ? 0 : core.rates.take(own, core.now);
  if (wait === 0) return;
  const most = core.options.quotas.events;
  throw new BytebotError("overloaded", `tenant "${own}" sends more than ${most} events a second`, {
    retryable: true,
    retryAfterMs: wait,
  });
}

function placeOf(core: Core, connection: Synced, { scope, call_id }: Event): string | undefined {
  if (typeof scope === "string") return mayTouch(connection, scope) ? scope : undefined;
  const call = core.pending.get(String(call_id));
  return call?.to === connection.id ? call.scope : undefined;
}

/** A line that was no event. */
export function stray(core: Core, id: ConnectionId, error: BytebotError): void {
  const connection = core.connections.get(id);
  if (!connection || connection.deaf) return;
  core.refuse(id, error);
  // What is not JSON is noise; the rest was meant as an event.
  if (error.code !== "parse_error") missed(core, id);
  countFault(core, connection, error);
}

/**
 * Whoever goes on sending what is refused is told to stop, then closed (rule QTA-5). Not the app's own; nor a satellite
 * of all tenants for what one of them has too much of.
 */
export function countFault(core: Core, connection: Connection, error: BytebotError): void {
  const shared = connection.state === "synced" && connection.grant.scopes.includes("*");
  const isOwners = connection.state === "synced" && connection.grant.owner;
  if (isOwners || (shared && error.code === "overloaded")) return;
  if (connection.faults.take(core.now) === 0) return;
  connection.deaf = true;
  const many = `more than ${MAX_FAULTS} of its events were refused, and more every second than ${FAULTS_A_SECOND}`;
  core.refuse(connection.id, new BytebotError("overloaded", many));
  core.effect(undefined, { type: "close", to: connection.id, reason: many });
}
