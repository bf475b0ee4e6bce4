import {
  BytebotError,
  strict,
  toAnthropic,
  toOpenai,
  type ApiShape,
  type ContextRenderResult,
  type Message,
  type OpenaiRenderResult,
  type Sync,
  type ThinkingBlock,
} from "../../wire/index.ts";
import type { Conversation, Round, Synced } from "../state.ts";

type Fields = Round["fields"];

/** The shapes that a context or an infer may announce (rule CON-10). */
export function refuseUnknownShape(event: Sync): void {
  const shape = event.capabilities?.["api_shape"];
  if (event.kind !== "infer" && event.kind !== "context") return;
  if (shape === undefined || shape === "anthropic" || shape === "openai") return;
  throw new BytebotError(
    "unavailable",
    `capabilities.api_shape ${JSON.stringify(shape)?.slice(0, 80)}: this Hub speaks "anthropic" and "openai"`,
  );
}

function shapeOf(connection: Synced): ApiShape {
  return connection.grant.capabilities["api_shape"] === "openai" ? "openai" : "anthropic";
}

/** Characters of a model's name that tell it from others; it stands on every thought. */
const MAX_NAME = 256;

/** Who signs the thinking of this round: the infer, and the model that was asked for or that it says it is. */
export function originOf(infer: Synced, model: string | undefined): string {
  const { model: own } = infer.grant.capabilities;
  const name = model ?? (typeof own === "string" ? own : undefined);
  return name === undefined ? infer.offer.componentId : `${infer.offer.componentId}/${name.slice(0, MAX_NAME)}`;
}

/** What an infer is sent: as the strictest provider takes it, in the shape that this infer takes (rules CNV-1 and CNV-6). */
export function toInfer(infer: Synced, conversation: Conversation, fields: Fields): Record<string, unknown> {
  const messages = strict(fields.messages, sameModel(conversation, originOf(infer, fields.model)));
  if (shapeOf(infer) === "anthropic") return { ...fields, messages };
  const { model, params, ...said } = fields;
  const rest = { ...(model === undefined ? {} : { model }), ...(params === undefined ? {} : { params }) };
  return { api_shape: "openai", ...toOpenai({ ...said, messages }), ...rest };
}

/** A context may leave `origin` out when it gives thinking back: the transcript knows whose signature it is. */
function sameModel(conversation: Conversation, origin: string): (block: ThinkingBlock) => boolean {
  let known: Map<string | undefined, string | undefined> | undefined;
  return (block) => {
    if (block.origin !== undefined) return block.origin === origin;
    known ??= signatures(conversation.messages);
    return known.get(block.signature) === origin;
  };
}

function signatures(messages: readonly Message[]): Map<string | undefined, string | undefined> {
  const known = new Map<string | undefined, string | undefined>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "thinking") known.set((block as ThinkingBlock).signature, (block as ThinkingBlock).origin);
    }
  }
  return known;
}

/** What a context is asked with, in the shape that it announced. */
export function toContext(
  context: Synced,
  asked: { tools: NonNullable<Fields["tools"]>; history: Message[] },
): Record<string, unknown> {
  if (shapeOf(context) === "anthropic") return asked;
  const { messages, tools } = toOpenai({ messages: asked.history, tools: asked.tools });
  return { api_shape: "openai", tools, history: messages };
}

/** What a context answered, whichever shape it says that has, as canonical. */
export function fromContext(result: ContextRenderResult | OpenaiRenderResult): ContextRenderResult {
  if (result.api_shape !== "openai") return result;
  const { api_shape: _, messages, tools, tool_choice, ...rest } = result as OpenaiRenderResult;
  const said = toAnthropic({ messages: messages ?? [], ...(tool_choice === undefined ? {} : { tool_choice }) });
  const system = [rest.system, said.system].filter((text) => text !== undefined).join("\n\n");
  return {
    ...rest,
    ...(system === "" ? {} : { system }),
    ...(messages ? { messages: said.messages } : {}),
    ...(tools ? { tools: tools.map(nameOf) } : {}),
    ...(said.tool_choice ? { tool_choice: said.tool_choice } : {}),
  } as ContextRenderResult;
}

function nameOf(tool: NonNullable<OpenaiRenderResult["tools"]>[number]): string {
  if (typeof tool === "string") return tool;
  if ("name" in tool && typeof tool.name === "string") return tool.name;
  return (tool as { function: { name: string } }).function.name;
}
