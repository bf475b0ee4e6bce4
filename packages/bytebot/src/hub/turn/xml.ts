import {
  BytebotError,
  dialectNames,
  dialects,
  writeMessages,
  writeSystem,
  XmlParser,
  type Block,
  type BlockType,
  type Dialect,
  type InferChunk,
  type ModelTool,
  type XmlEvent,
} from "../../wire/index.ts";
import { mustFitTranscript } from "./fit.ts";
import { charactersOf, tooLong } from "../tools/answer.ts";
import type { Round, Synced, Tool } from "../state.ts";

type ToolUse = Extract<Block, { type: "tool_use" }>;

/**
 * How an infer takes tools, as its `capabilities.tools` say: natively (also where it says nothing), as text of a dialect,
 * or not at all. Throws `unavailable` for a way that this Hub does not know (rules CON-10 and XML-1).
 */
export function toolsAs(capabilities: Readonly<Record<string, unknown>> | undefined): "native" | "none" | Dialect {
  const tools = capabilities?.["tools"];
  if (tools === undefined) return "native";
  const ways = typeof tools === "object" && tools !== null ? (tools as Record<string, unknown>) : undefined;
  if (ways && Object.keys(ways).length === 0) return "none";
  if (ways && Object.hasOwn(ways, "native")) return "native";
  const known = dialectNames.map((name) => `"${name}"`).join(", ");
  if (!ways || !Object.hasOwn(ways, "xml")) {
    throw new BytebotError(
      "unavailable",
      `capabilities.tools: say {"native":{}}, {"xml":{"dialect":…}}, or {} for none`,
    );
  }
  const dialect = (ways["xml"] as { dialect?: unknown } | null)?.dialect;
  const name = dialectNames.find((each) => each === dialect);
  if (name !== undefined) return dialects[name];
  const said = JSON.stringify(dialect)?.slice(0, 80) ?? "is missing";
  throw new BytebotError("unavailable", `capabilities.tools.xml.dialect ${said}: this Hub writes and reads ${known}`);
}

/** What the infer of this round is sent, and what its answer is read with. */
export function askedOf(
  infer: Synced,
  round: Round,
  limit: number,
): { fields: Round["fields"]; offered: ReadonlyMap<string, Tool>; xml: XmlAnswer | undefined } {
  const { fields, offered } = round;
  const way = toolsAs(infer.grant.capabilities);
  if (way === "native") return { fields, offered, xml: undefined };
  const { tools = [], tool_choice, system, ...rest } = fields;
  const none = { ...rest, ...(system === undefined ? {} : { system }) };
  if (way === "none") return { fields: none, offered: new Map(), xml: undefined };
  const forbidden = tool_choice?.type === "none";
  const shown = forbidden ? [] : tools;
  const text = writeSystem(way, system, shown, tool_choice);
  const written = {
    ...rest,
    ...(text === undefined ? {} : { system: text }),
    messages: writeMessages(way, fields.messages, tools),
  };
  return {
    fields: written,
    offered: forbidden ? new Map() : offered,
    xml: new XmlAnswer(way, shown, limit),
  };
}

/** What the model is told of a call that could not be read (rules CHK-6 and XML-7). */
export function whyMalformed(use: ToolUse): string {
  if (typeof use["reason"] === "string") return `The call could not be read, so it did not run: ${use["reason"]}.`;
  const text = String(use["malformed"]);
  return `The arguments cannot be used: ${wrongArguments(text)}. They were: ${text.slice(0, 200)}`;
}

function wrongArguments(text: string): string {
  try {
    mustFitTranscript(JSON.parse(text));
    return "they are no JSON object";
  } catch (error) {
    return error instanceof BytebotError ? error.message : "they are not valid JSON";
  }
}

/** The block of the answer that is being read. */
interface Current {
  /** Its index at the infer. */
  index: number;
  type: BlockType;
  /** Its index in what the Hub passes on; a text has none until there is text. */
  at: number | undefined;
  /** Whether it came in pieces: these win over the whole block at its end. */
  pieces: boolean;
}

/**
 * One answer of an infer that writes calls as text: turns its chunks into those that an infer with native tools would have
 * sent. Its blocks come one after the other and get new indexes, as a text may turn into two blocks (rule XML-6).
 */
export class XmlAnswer {
  private readonly parser: XmlParser;
  private readonly seen = new Set<number>();
  private current: Current | undefined;
  private next = 0;
  /** The index of the call's block. */
  private call: number | undefined;
  /** Characters of what came so far. Once it is over the limit nothing more is taken, so that no call loses its middle. */
  private size = 0;
  private readonly limit: number;

  constructor(dialect: Dialect, tools: readonly ModelTool[], limit: number) {
    this.parser = new XmlParser(dialect, tools, limit);
    this.limit = limit;
  }

  /**
   * Throws `invalid_event` for a chunk that does not fit, `too_large` for the first beyond the limit; it then changed
   * nothing. What is on its way behind that one all the same is no new mistake, and passed over.
   */
  chunks(event: InferChunk): InferChunk[] {
    if (this.size > this.limit) return [];
    switch (event.kind) {
      case "block_start":
        this.mustBeNew(event.index, event.block_type);
        return this.begin(event.index, event.block_type);
      case "block_delta":
        return this.delta(event.index, event.block_type, event.delta);
      case "block_stop":
        return this.stop(event.index, event.block);
      case "loop_done":
        return [event];
    }
  }

  /** The answer has ended; `content` is what the result says it was, and serves where nothing was streamed. */
  end(content: readonly Block[] = []): InferChunk[] {
    const whole = this.seen.size > 0 ? [] : content.flatMap((block, index) => this.stop(index, block));
    return [...whole, ...this.close(), ...this.read(this.parser.end())];
  }

  private mustBeNew(index: number, type: Block["type"]): void {
    if (type === "tool_use") throw noNativeCalls();
    if (this.seen.has(index))
      throw new BytebotError("invalid_event", `infer_chunk: block ${index} was started already`);
  }

  private begin(index: number, type: BlockType): InferChunk[] {
    const closed = this.close();
    this.seen.add(index);
    this.current = { index, type, at: undefined, pieces: false };
    if (type === "text") return closed;
    this.parser.other();
    if (this.parser.inCall) return closed;
    this.current.at = this.next++;
    return [...closed, { ...CHUNK, kind: "block_start", index: this.current.at, block_type: type }];
  }

  private delta(index: number, type: BlockType, delta: string): InferChunk[] {
    const goesOn = this.current?.index === index;
    if (!goesOn) this.mustBeNew(index, type);
    else if (this.current!.type !== type)
      throw new BytebotError("invalid_event", `infer_chunk: block ${index} is ${this.current!.type}`);
    this.count(delta.length);
    const begun = goesOn ? [] : this.begin(index, type);
    const current = this.current!;
    current.pieces = true;
    if (type === "text") return [...begun, ...this.read(this.parser.push(delta))];
    return current.at === undefined ? begun : [...begun, deltaOf(current.at, type, delta)];
  }

  private stop(index: number, block: Block | undefined): InferChunk[] {
    const current = this.current?.index === index ? this.current : undefined;
    if (!block) {
      if (!current) throw new BytebotError("invalid_event", `infer_chunk: block ${index} is not open`);
      return this.close();
    }
    if (block.type === "tool_use") throw noNativeCalls();
    if (!current) this.mustBeNew(index, block.type);
    this.count(charactersOf(block, current?.pieces === true));
    if (current) return this.close(block);
    if (block.type === "text" || block.type === "thinking")
      return [...this.begin(index, block.type), ...this.close(block)];
    const closed = this.close();
    this.seen.add(index);
    this.parser.other();
    return this.parser.inCall ? closed : [...closed, { ...CHUNK, kind: "block_stop", index: this.next++, block }];
  }

  /** The block that is being read ends, as `block` says where it came whole. */
  private close(block?: Block): InferChunk[] {
    const { current } = this;
    if (!current) return [];
    const { type, pieces } = current;
    if (type === "thinking") {
      this.current = undefined;
      return current.at === undefined ? [] : [stopOf(current.at, block)];
    }
    const said = block?.type === "text" && !pieces ? this.read(this.parser.push(String(block["text"]))) : [];
    const chunks = [...said, ...this.read(this.parser.pause())];
    this.current = undefined;
    if (current.at !== undefined) chunks.push(stopOf(current.at));
    return chunks;
  }

  private count(characters: number): void {
    this.size += characters;
    if (this.size > this.limit) throw tooLong(this.limit);
  }

  private read(events: XmlEvent[]): InferChunk[] {
    return events.flatMap((event): InferChunk[] => {
      switch (event.type) {
        case "text": {
          const { current } = this;
          const begun = current!.at === undefined;
          const at = (current!.at ??= this.next++);
          const start = { ...CHUNK, kind: "block_start" as const, index: at, block_type: "text" as const };
          return [...(begun ? [start] : []), deltaOf(at, "text", event.text)];
        }
        case "call":
          return this.startCall(event.name);
        case "arguments":
          return [deltaOf(this.call!, "tool_use", event.json)];
        case "complete":
          return [stopOf(this.call!)];
        case "malformed": {
          const { name, reason, written } = event;
          const started = this.call === undefined ? this.startCall(name) : [];
          return [...started, stopOf(this.call!, { type: "tool_use", name, input: null, malformed: written, reason })];
        }
      }
    });
  }

  /** The text before a call ends with it. */
  private startCall(name: string): InferChunk[] {
    const { current } = this;
    const ended = current?.at === undefined ? [] : [stopOf(current.at)];
    if (current) current.at = undefined;
    this.call = this.next++;
    return [...ended, { ...CHUNK, kind: "block_start", index: this.call, block_type: "tool_use", name }];
  }
}

const CHUNK = { event_type: "infer_chunk" } as const;

function deltaOf(index: number, block_type: BlockType, delta: string): InferChunk {
  return { ...CHUNK, kind: "block_delta", index, block_type, delta };
}

function stopOf(index: number, block?: Block): InferChunk {
  return { ...CHUNK, kind: "block_stop", index, ...(block === undefined ? {} : { block }) };
}

function noNativeCalls(): BytebotError {
  return new BytebotError(
    "invalid_event",
    "infer_chunk: this infer said that it writes calls as text, and sent a tool_use block",
  );
}
