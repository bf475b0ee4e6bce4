import type { Block, Message, ToolResultBlock } from "../content.ts";
import type { ModelTool, ToolChoice } from "../events/turn.ts";
import { whiteTail } from "./call.ts";
import type { Dialect, KindOf, ResultText } from "./dialect.ts";
import { Fence } from "./fence.ts";
import { kindsOf } from "./parser.ts";
import { isObject } from "./schema.ts";

/** The system text with the tools in it; undefined where both are empty (rule XML-2). */
export function writeSystem(
  dialect: Dialect,
  system: string | undefined,
  tools: readonly ModelTool[],
  choice?: ToolChoice,
): string | undefined {
  const parts = system === undefined || system === "" ? [] : [dialect.escapes.escape(system)];
  if (tools.length > 0) {
    parts.push(dialect.tools(tools));
    if (choice?.type === "any") parts.push("This time you have to call one of the functions.");
    if (choice?.type === "tool") {
      parts.push(`This time you have to call ${dialect.escapes.escape(String(choice["name"]))}.`);
    }
  }
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

/**
 * A transcript without tool blocks: calls and results as text, every tag in other text escaped, thinking left out. What is
 * neither (an image, say) stays as it is (rules XML-2 and XML-5).
 */
export function writeMessages(dialect: Dialect, messages: readonly Message[], tools: readonly ModelTool[]): Message[] {
  const kindOf = kindsOf(tools);
  const names = new Map<string, string>();
  return withoutThinking(messages).map((message) => {
    const page = new Page(dialect, kindOf, names);
    for (const block of message.content) page.add(block);
    return { ...message, content: page.end() };
  });
}

/** A message that was nothing but thinking is gone, and its neighbours, of one role now, are one. */
function withoutThinking(messages: readonly Message[]): Message[] {
  const kept: Message[] = [];
  for (const message of messages) {
    const content = message.content.filter(({ type }) => type !== "thinking");
    if (content.length === 0) continue;
    const last = kept.at(-1);
    if (last?.role === message.role) last.content = last.content.concat(content);
    else kept.push({ ...message, content });
  }
  return kept;
}

/** The blocks of one message. Neighbouring texts become one, a line apart: two halves of a tag in two blocks would be a tag. */
class Page {
  private readonly out: Block[] = [];
  /** What goes into the next text block. */
  private parts: string[] = [];
  private prose: string[] = [];
  private results: ResultText[] = [];
  /** The parts of results that are no text: they follow the results. */
  private media: Block[] = [];
  private readonly dialect: Dialect;
  private readonly kindOf: KindOf;
  /** Of the calls so far, by their ids. */
  private readonly names: Map<string, string>;

  constructor(dialect: Dialect, kindOf: KindOf, names: Map<string, string>) {
    this.dialect = dialect;
    this.kindOf = kindOf;
    this.names = names;
  }

  add(block: Block): void {
    if (block.type === "tool_result") {
      this.endProse();
      return this.addResult(block as ToolResultBlock);
    }
    this.endResults();
    if (block.type === "text") this.prose.push(this.dialect.escapes.escape(String(block["text"])));
    else if (block.type === "tool_use") {
      const { id, name } = block as { id?: string; name: string };
      if (id !== undefined) this.names.set(id, name);
      this.endProse(closed);
      this.parts.push(writeCall(this.dialect, block, this.kindOf));
    } else {
      this.flush();
      this.out.push(block);
    }
  }

  end(): Block[] {
    this.endResults();
    this.flush();
    return this.out;
  }

  private addResult({ tool_use_id, content, is_error }: ToolResultBlock): void {
    const texts: string[] = [];
    for (const part of content) {
      if (part.type === "text") texts.push(String(part["text"]));
      else {
        texts.push(`[${part.type}: below]`);
        this.media.push(part);
      }
    }
    const tool = this.names.get(tool_use_id) ?? "unknown";
    this.results.push({ tool, text: texts.join("\n"), isError: is_error === true });
  }

  private endProse(close = (text: string): string => text): void {
    const text = close(this.prose.filter((each) => each !== "").join("\n"));
    if (text !== "") this.parts.push(text);
    this.prose = [];
  }

  private endResults(): void {
    if (this.results.length === 0) return;
    this.parts.push(this.dialect.results(this.results));
    this.results = [];
    if (this.media.length === 0) return;
    this.flush();
    for (const block of this.media) this.out.push(block);
    this.media = [];
  }

  private flush(): void {
    this.endProse();
    if (this.parts.length > 0) this.out.push({ type: "text", text: this.parts.join("\n") });
    this.parts = [];
  }
}

/** Text that a call may follow: without white space at its end, its code fence closed. */
function closed(text: string): string {
  const trimmed = text.slice(0, whiteTail(text));
  const fence = new Fence();
  fence.read(`${trimmed}\n`);
  return fence.closing === undefined ? trimmed : `${trimmed}\n${fence.closing}`;
}

/** A call that was malformed is no call here either: it is shown as text. */
function writeCall(dialect: Dialect, block: Block, kindOf: KindOf): string {
  const { name, input, malformed } = block as { name: string; input?: unknown; malformed?: unknown };
  if (isObject(input)) return dialect.call(name, input, kindOf);
  return dialect.escapes.escape(typeof malformed === "string" ? malformed : JSON.stringify({ name, input }));
}
