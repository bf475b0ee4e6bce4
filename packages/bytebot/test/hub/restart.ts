import { MemoryLog, withLargeEvents, type Entry } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import {
  inferResult,
  message,
  register,
  textChunks,
  toolChunks,
  toolResult,
  World,
  type Peer,
  type WorldOptions,
} from "./world.ts";

export type Kept = Entry & { cell: string };

/** The log as it was after so many of its entries: what a Hub that was killed then has left. */
export async function cutAfter(entries: readonly Kept[], count: number): Promise<MemoryLog> {
  const log = new MemoryLog();
  const large = withLargeEvents(log);
  const heads = new Map<string, number>();
  for (const { cell, id, events, base, open } of entries.slice(0, count)) {
    const bare = events.map(({ seq: _seq, cursor: _cursor, ...event }) => event as Event);
    const flags = { ...(base ? { base } : {}), ...(open ? { open } : {}) };
    heads.set(cell, (await large.append(cell, heads.get(cell) ?? 0, { id, events: bare, ...flags })).pos);
  }
  return log;
}

/** A Hub that starts on the log of another. */
export async function restarted(log: MemoryLog, options: WorldOptions = {}): Promise<World> {
  const world = new World({ ...options, log });
  await world.hub.restore();
  return world;
}

export async function goOn(world: World): Promise<void> {
  world.hub.goOn();
  await world.settle();
}

export const types = (events: readonly Event[]): string[] =>
  events.map(({ event_type, kind }) => (typeof kind === "string" ? kind : event_type));
export const logged = async (world: World): Promise<Event[]> =>
  (await world.entries()).flatMap(({ events }) => [...events]);
export const ends = (events: readonly Event[]): Event[] => events.filter(({ kind }) => kind === "loop_done");

/** Two tools, of which one may be called twice. */
export const TOOLS: Event = {
  event_type: "bb_tool_register",
  id: "reg",
  tools: [
    { name: "look", input_schema: { type: "object" }, annotations: { idempotent: true } },
    { name: "write", input_schema: { type: "object" } },
  ],
};

/** An infer, tools and a UI that do by themselves what the story needs; `ran`: each call that was carried out. */
export async function cast(world: World, ran: string[]): Promise<{ infer: Peer; tools: Peer; ui: Peer }> {
  const infer = await world.join("infer");
  infer.react = (request) => {
    if (request.event_type !== "bb_infer_request") return;
    const events =
      request["round"] === 0
        ? [
            ...textChunks(request, "let me see", 0),
            ...toolChunks(request, "look", { at: 1 }, 1),
            ...toolChunks(request, "write", { at: 2 }, 2),
            inferResult(request, "tool_use"),
          ]
        : [...textChunks(request, "all done"), inferResult(request)];
    for (const event of events) infer.link.send(event);
  };
  const tools = await world.join("toolsource");
  tools.react = (request) => {
    if (request.event_type !== "bb_tool_call_request") return;
    ran.push(`${String(request["name"])} ${String(request["call_id"])}`);
    tools.link.send(toolResult(request, `${String(request["name"])} ran`));
  };
  await tools.send(TOOLS);
  const ui = await world.join("ui", {}, { resume: "start" });
  return { infer, tools, ui };
}

/** A conversation whose model has called `read`, with everybody by hand. */
export async function calling(world: World): Promise<{ infer: Peer; tools: Peer; ui: Peer }> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  return { infer, tools, ui };
}
