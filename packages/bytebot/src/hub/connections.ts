import { BytebotError, limitsFor, within, type Event, type Sync } from "../wire/index.ts";
import type { Core } from "./core.ts";
import type { ConnectionId } from "./effects.ts";
import { narrow, type Offer } from "./grants.ts";
import { join } from "./readers/join.ts";
import { Recent } from "./recent.ts";
import { lostLink } from "./lost.ts";
import { FAULTS_A_SECOND, MAX_FAULTS } from "./tenants/admission.ts";
import { Bucket } from "./tenants/bucket.ts";
import { RETRY_MS, tenantsOf } from "./tenants/quotas.ts";
import { refuseUnknownShape } from "./turn/shape.ts";
import type { New, Resume, Synced } from "./state.ts";
import { resend } from "./tools/calls.ts";
import { toolsAs } from "./turn/xml.ts";

export const PROTOCOL_VERSION = 1;
/** Requests of one connection that ended without its answer, and are known for a while. */
const MAX_ENDED = 1000;

export function opened(core: Core, id: ConnectionId, from: Offer): void {
  core.connections.set(id, { state: "new", id, offer: from, faults: new Bucket(MAX_FAULTS, FAULTS_A_SECOND) });
  core.effect(undefined, { type: "timer", key: `sync:${id}`, at: core.now + core.limits.syncMs });
}

/** The handshake: grants what the offer and the sync agree on, and answers `bb_sync_ack` (rules CON-2 to CON-5). */
export function sync(core: Core, connection: New, event: Sync): void {
  const { id, offer } = connection;
  // An owner is a ui, whatever else it is offered to be.
  const isOwner = offer.owner && event.owner === true && event.kind === "ui";
  if (offer.kind !== undefined && offer.kind !== event.kind && !isOwner) {
    throw new BytebotError(
      "forbidden",
      `${offer.name} is attached as ${offer.kind} and says it is ${event.kind}: mend its manifest or its bb_sync`,
    );
  }
  const scopes = event.scopes ?? offer.scopes;
  if (scopes.length === 0)
    throw new BytebotError(
      "forbidden",
      `${offer.name} is granted no scope at all: its "scopes" name one, or are absent`,
    );
  const outside = scopes.find((scope) => (scope === "*" ? !offer.scopes.includes("*") : !within(offer.scopes, scope)));
  if (outside !== undefined) throw new BytebotError("not_found", `no scope "${outside}" in the grant of ${offer.name}`);
  refuseWhatIsNotBuilt(event);
  const resume = resumeOf(core, event);

  const tenants = tenantsOf(scopes);
  for (const tenant of tenants) mustHaveRoom(core, tenant);

  // A role is held against those who are everywhere that its holder is: nobody learns who else has it elsewhere.
  const met = core.connected.holdersOver(scopes);
  const grant = narrow(offer, event, scopes, {
    primary: met.some((other) => other.grant.kind === event.kind && other.grant.primary),
    controller: met.some((other) => other.grant.controller),
  });
  const synced: Synced = {
    state: "synced",
    id,
    offer,
    grant,
    joining: new Set(),
    resume,
    registering: 0,
    ended: new Recent(MAX_ENDED),
    faults: connection.faults,
  };
  core.tenants.connect(tenants, id);
  core.connections.set(id, synced);
  core.connected.add(synced);
  const limits = limitsFor(grant.kind);
  core.effect(undefined, { type: "clear", key: `sync:${id}` });
  core.effect(undefined, { type: "observe", event: { ...event, from: offer.componentId, ts: core.now }, by: id });
  core.effect(undefined, { type: "limit", to: id, limits });
  core.send(undefined, id, {
    event_type: "bb_sync_ack",
    ...(event.id === undefined ? {} : { in_reply_to: event.id }),
    component_id: offer.componentId,
    protocol_version: PROTOCOL_VERSION,
    kind: grant.kind,
    scopes: [...grant.scopes],
    input_capable: grant.inputCapable,
    primary: grant.primary,
    controller: grant.controller,
    ...(grant.principal === undefined ? {} : { principal: grant.principal }),
    limits: { ...limits, blob_bytes: core.limits.blobBytes },
    hub: { name: core.options.name, version: core.options.version },
  });
  if (grant.kind === "ui" || grant.kind === "telemetry") join(core, synced);
  const isBack = core.away.delete(offer.componentId) && grant.kind === "infer";
  if (isBack || (core.isAwaiting && (grant.kind === "infer" || grant.kind === "context")))
    core.raise({ type: "infer_settled" });
  if (grant.kind === "toolsource") core.tools.keepFor(offer.componentId, scopes);
  if (grant.kind === "toolsource") resend(core, synced);
  else core.effect(undefined, { type: "ready", to: id });
}

/** Where a returning reader goes on (rule RPL-3). Throws `cursor_expired` where the log has no such place. */
function resumeOf(core: Core, event: Sync): Resume | undefined {
  if (event.resume === undefined) return undefined;
  if (event.kind !== "ui" && event.kind !== "telemetry") {
    throw new BytebotError("invalid_params", `resume is for a ui or a telemetry: a ${event.kind} is shown nothing`);
  }
  const after = core.options.resumeAfter(event.resume);
  return { after, questions: new Set(), scopes: new Set(), through: undefined };
}

function mustHaveRoom(core: Core, tenant: string): void {
  const most = core.options.quotas.connections;
  if (core.tenants.connections(tenant).size < most) return;
  throw new BytebotError("overloaded", `tenant "${tenant}" has ${most} connections, and may have no more`, {
    retryable: true,
    retryAfterMs: RETRY_MS,
  });
}

/** What a newer issue of the protocol's own text allows and this Hub cannot do yet is refused by name, not half done. */
function refuseWhatIsNotBuilt(event: Sync): void {
  refuseUnknownShape(event);
  if (event.kind !== "infer") return;
  toolsAs(event.capabilities);
}

export function closed(core: Core, id: ConnectionId, reason: string): void {
  const connection = core.connections.get(id);
  if (!connection) return;
  core.connections.delete(id);
  if (connection.state === "synced") core.connected.remove(connection);
  core.effect(undefined, { type: "clear", key: `sync:${id}` });
  if (connection.state === "new") return;
  core.tenants.disconnect(tenantsOf(connection.grant.scopes), id);
  if (connection.grant.kind === "infer") core.lost(connection.offer);
  core.effect(undefined, {
    type: "observe",
    event: { event_type: "bb_bye", reason, from: connection.offer.componentId, ts: core.now },
  });
  lostLink(core, connection, reason);
}

/** Who is connected, as `bb_components_result`. */
export function components(core: Core, id: string): Event {
  const all = core.connected.all().map(({ offer, grant }) => ({
    component_id: offer.componentId,
    name: offer.name,
    kind: grant.kind,
    state: "synced",
    primary: grant.primary,
    controller: grant.controller,
  }));
  return { event_type: "bb_components_result", in_reply_to: id, success: true, components: all };
}
