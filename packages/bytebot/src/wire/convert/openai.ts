import { z } from "zod";

/*
 * The other shape of a conversation: what OpenAI's chat completions take, and whoever speaks like them. Fields that are
 * not named here pass the check and mean nothing to the Hub.
 */
const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const RefusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const ImagePart = z.looseObject({
  type: z.literal("image_url"),
  image_url: z.looseObject({ url: z.string(), detail: z.string().optional() }),
});
const AudioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
});
const FilePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({
    file_data: z.string().optional(),
    filename: z.string().optional(),
    file_id: z.string().optional(),
  }),
});

export const OpenaiPart = z.discriminatedUnion("type", [TextPart, ImagePart, AudioPart, FilePart]);
export type OpenaiPart = z.infer<typeof OpenaiPart>;

/** `arguments` is JSON as text. */
export const OpenaiToolCall = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type OpenaiToolCall = z.infer<typeof OpenaiToolCall>;

const Texts = z.union([z.string(), z.array(TextPart)]);
const Said = z.union([z.string(), z.array(z.discriminatedUnion("type", [TextPart, RefusalPart]))]);

export const OpenaiMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: Texts }),
  z.looseObject({ role: z.literal("user"), content: z.union([z.string(), z.array(OpenaiPart)]) }),
  z.looseObject({
    role: z.literal("assistant"),
    content: Said.nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(OpenaiToolCall).nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string(), content: Texts }),
]);
export type OpenaiMessage = z.infer<typeof OpenaiMessage>;

export const OpenaiTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});
export type OpenaiTool = z.infer<typeof OpenaiTool>;

export const OpenaiToolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }),
]);
export type OpenaiToolChoice = z.infer<typeof OpenaiToolChoice>;

/** What of a request has this shape; the system text stands in its first message. */
export interface OpenaiFields {
  messages: OpenaiMessage[];
  tools?: OpenaiTool[];
  tool_choice?: OpenaiToolChoice;
}
