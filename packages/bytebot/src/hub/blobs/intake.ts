import {
  bytesOf,
  BytebotError,
  INLINE_BYTES,
  maySend,
  shorten,
  sizeOf,
  toReference,
  toReferenceOrNote,
  validate,
  type Block,
  type Event,
  type InputBlock,
} from "../../wire/index.ts";
import type { Blobs } from "./blobs.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import { inTime } from "../in-time.ts";
import type { Clock } from "../timers.ts";

/** Who is refused for a blob that is not there, and whose content gets a note in its place: their work has been done. */
const STRICT = new Set(["user_event", "bb_turn_request"]);

/**
 * What comes in is looked through before the core sees it: media above 256 KiB become blobs, a tool's result is cut to
 * its limit with the whole kept beside it, and a reference names a blob of the scope's cell (rules BLB-1, BLB-7, TOL-10).
 */
export class Intake {
  private readonly core: Core;
  private readonly blobs: Blobs;
  private readonly clock: Clock;

  constructor(core: Core, blobs: Blobs, clock: Clock) {
    this.core = core;
    this.blobs = blobs;
    this.clock = clock;
  }

  /** The event as the core shall have it; undefined: as it is. Rejects with what its sender is told. */
  take(from: ConnectionId, event: Event): Promise<Event> | undefined {
    const content = contentOf(event);
    if (!content) return undefined;
    const isResult = event.event_type === "bb_tool_call_result";
    // What is no content at all is for the core to refuse, and so is what its sender may not send.
    if (!content.some(isSpecial) && !(isResult && isLarge(content, this.core.limits.resultBytes))) return undefined;
    const scope = this.scopeOf(from, event);
    if (scope === undefined) return undefined;
    return inTime(this.clock, this.settle(scope, event, content as Block[]));
  }

  private async settle(scope: string, event: Event, sent: Block[]): Promise<Event> {
    const keep = this.blobs.keep(scope);
    const strict = STRICT.has(event.event_type);
    const refer = strict ? toReference : toReferenceOrNote;
    const isResult = event.event_type === "bb_tool_call_result";
    const content = isResult ? await shorten(sent as InputBlock[], this.core.limits.resultBytes, keep) : sent;
    const settled: Block[] = [];
    for (const block of content as Block[]) {
      if (block.type === "blob") settled.push(await this.known(scope, block, strict));
      else if (isOversize(block)) settled.push(await refer(block as InputBlock, keep));
      else settled.push(block);
    }
    return event.event_type === "infer_chunk" ? { ...event, block: settled[0] } : { ...event, content: settled };
  }

  /** The size is the blob's own, whatever the sender said. */
  private async known(scope: string, block: Block, strict: boolean): Promise<Block> {
    const ref = String(block["ref"]);
    try {
      const { size } = await this.blobs.find(scope, ref);
      return { ...block, size } as Block;
    } catch (error) {
      if (strict || BytebotError.from(error).code !== "not_found") throw error;
      return { type: "text", text: `[left out: there is no blob ${ref} in this scope]` };
    }
  }

  /** Where the content belongs, if this connection may send it there. */
  private scopeOf(from: ConnectionId, event: Event): string | undefined {
    const connection = this.core.synced(from);
    if (!connection) return undefined;
    const { kind, controller, owner } = connection.grant;
    if (maySend(kind, controller || owner, event.event_type) !== "allowed") return undefined;
    try {
      validate(event);
    } catch {
      return undefined; // the core says why
    }
    const answered = this.core.pending.get(String(event["call_id"] ?? event["in_reply_to"]));
    const own = STRICT.has(event.event_type) ? event["scope"] : answered?.to === from ? answered.scope : undefined;
    return typeof own === "string" && mayTouch(connection, own) ? own : undefined;
  }
}

/** The blocks of an event that carries content of its sender's. */
function contentOf(event: Event): unknown[] | undefined {
  switch (event.event_type) {
    case "user_event":
    case "bb_turn_request":
    case "bb_tool_call_result":
    case "bb_infer_result":
      return Array.isArray(event["content"]) ? event["content"] : undefined;
    case "infer_chunk":
      return event["kind"] === "block_stop" && event["block"] !== undefined ? [event["block"]] : undefined;
    default:
      return undefined;
  }
}

function isSpecial(block: unknown): boolean {
  if (typeof block !== "object" || block === null) return false;
  return (block as Block).type === "blob" || isOversize(block as Block);
}

function isOversize({ type, data }: Block): boolean {
  const media = type === "image" || type === "audio" || type === "file";
  return media && bytesOf(data) > INLINE_BYTES;
}

function isLarge(content: unknown[], limit: number): boolean {
  return (
    content.every((block) => typeof block === "object" && block !== null) && sizeOf(content as InputBlock[]) > limit
  );
}
