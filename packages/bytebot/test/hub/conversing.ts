import type { Event } from "../../src/wire/index.ts";
import { inferResult, textChunks, type Peer, type World } from "./world.ts";

/** An infer that answers everything with how many messages it was shown. */
export async function answering(world: World): Promise<Peer> {
  const infer = await world.join("infer");
  infer.react = (request) => {
    if (request.event_type !== "bb_infer_request") return;
    const { length } = request["messages"] as unknown[];
    for (const event of [...textChunks(request, `after ${length}`), inferResult(request)]) infer.link.send(event);
  };
  return infer;
}

export const list = (more: Record<string, unknown> = {}): Event => ({
  event_type: "bb_conversations",
  id: "v",
  ...more,
});
export const rename = (scope: string, title: string, id = "r"): Event => ({
  event_type: "bb_rename",
  id,
  scope,
  title,
});
export const fork = (scope: string, seq: unknown, to: string, id = "f"): Event => ({
  ...{ event_type: "bb_fork", id, scope, at: seq, to },
});
export const remove = (scope: string, id = "d"): Event => ({ event_type: "bb_delete", id, scope });

export async function listed(peer: Peer, more: Record<string, unknown> = {}): Promise<Event[]> {
  await peer.send(list(more));
  return peer.last("bb_conversations_result")["conversations"] as Event[];
}

export const scopes = (conversations: readonly Event[]): unknown[] => conversations.map(({ scope }) => scope);
export const ends = (peer: Peer, scope: string): Event[] =>
  peer.all("infer_chunk").filter((event) => event["kind"] === "loop_done" && event["scope"] === scope);
export const shownTo = (infer: Peer): unknown => infer.last("bb_infer_request")["messages"];
