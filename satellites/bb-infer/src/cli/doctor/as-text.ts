import type { Block } from "bytebot/sdk";
import { dialectNames, dialects, writeMessages, writeSystem, XmlParser, type Dialect } from "bytebot/wire";
import type { Answer } from "./answer.ts";
import type { Asked } from "./exam.ts";

/** The dialect that is announced; undefined where tools are taken natively (that goes before), or not at all. */
export function toDialect(tools: unknown): Dialect | undefined {
  const { native, xml } = (tools ?? {}) as { native?: unknown; xml?: { dialect?: unknown } };
  const name = native === undefined ? dialectNames.find((one) => one === xml?.dialect) : undefined;
  return name && dialects[name];
}

/** A request as the Hub writes it for a model without tools of its own. */
export function asText(dialect: Dialect, { tools = [], tool_choice, ...rest }: Asked): Asked {
  const system = writeSystem(dialect, rest.system, tools, tool_choice);
  return {
    ...rest,
    ...(system === undefined ? {} : { system }),
    messages: writeMessages(dialect, rest.messages, tools),
  };
}

/** Text → text and at most one call, read as the Hub reads it. */
export function readCalls(dialect: Dialect, tools: NonNullable<Asked["tools"]>, answer: Answer): void {
  const parser = new XmlParser(dialect, tools);
  const others = answer.blocks.filter(({ type }) => type !== "text");
  const events = [...answer.of("text").flatMap(({ text }) => parser.push(String(text))), ...parser.end()];
  let [text, name, json] = ["", "", ""];
  const calls: Block[] = [];
  for (const event of events) {
    if (event.type === "text") text += event.text;
    else if (event.type === "call") name = event.name;
    else if (event.type === "arguments") json += event.json;
    else if (event.type === "complete") calls.push({ type: "tool_use", name, input: JSON.parse(json) as unknown });
    else
      calls.push({ type: "tool_use", name: event.name, input: null, malformed: event.written, reason: event.reason });
  }
  answer.blocks.splice(0, Infinity, ...others, ...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls);
}
