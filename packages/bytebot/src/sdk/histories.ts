import { check, wide, type EventOf } from "../wire/index.ts";

type Request = EventOf<"bb_context_render_request">;
type Message = Request["history"][number];

interface Kept {
  messages: Message[];
  size: number;
}

export function announcesIncremental(capabilities: { history?: unknown }): boolean {
  const { history } = capabilities;
  return typeof history === "object" && history !== null && Object.hasOwn(history, "incremental");
}

/** Characters of all conversations together. */
const MAX_SIZE = 64 * 1024 * 1024;

/**
 * The conversations of a context that is sent only what is new of them: bounded, the least recently rendered go first.
 * What came is frozen, because the next history builds on it.
 */
export class Histories {
  private readonly kept = new Map<string, Kept>();
  private readonly maxSize: number;
  private size = 0;

  constructor(maxSize = MAX_SIZE) {
    this.maxSize = maxSize;
  }

  /** All that was said in the request's conversation; undefined where what this goes on from is not here (any more). */
  whole({ scope, api_shape, history, history_whole }: Request): Message[] | undefined {
    const before = this.take(scope);
    if (history_whole !== false) {
      this.keep(scope, { messages: frozen(history), size: sizeOf(history) });
      return [...history];
    }
    if (!before) return undefined;
    const { messages } = before;
    for (const message of frozen(history)) add(messages, message, api_shape !== "openai");
    this.keep(scope, { messages, size: before.size + sizeOf(history) });
    return [...messages];
  }

  private take(scope: string): Kept | undefined {
    const kept = this.kept.get(scope);
    if (!kept) return undefined;
    this.kept.delete(scope);
    this.size -= kept.size;
    return kept;
  }

  private keep(scope: string, kept: Kept): void {
    this.kept.set(scope, kept);
    this.size += kept.size;
    for (const [oldest] of this.kept) {
      if (this.size <= this.maxSize) break;
      this.take(oldest);
    }
  }
}

/** Neighbours of one role are one message, in the canonical shape. */
function add(messages: Message[], message: Message, joining: boolean): void {
  const last = messages.at(-1);
  if (!joining || !last || last.role !== message.role) return void messages.push(message);
  const content = [...(last.content as unknown[]), ...(message.content as unknown[])];
  messages[messages.length - 1] = Object.freeze({ ...last, content: Object.freeze(content) }) as Message;
}

function frozen(history: Message[]): Message[] {
  const messages = [...history];
  for (const message of messages) check(message, wide, true);
  return messages;
}

function sizeOf(history: readonly Message[]): number {
  return JSON.stringify(history).length;
}
