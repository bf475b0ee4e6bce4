import fc from "fast-check";
import type { Block, Message, OpenaiMessage, OpenaiPart } from "../../../src/wire/index.ts";

/** What both shapes can say, as random values: what is here has to come back from the other shape as it was. */
const words = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }).filter((text) => /\S/.test(text));
const base64 = fc.base64String({ minLength: 4, maxLength: 12 });
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);
/** No event may have the key "constructor". */
const key = name.filter((text) => !["constructor", "prototype", "__proto__"].includes(text));
const json = fc
  .dictionary(key, fc.oneof(fc.integer(), words, fc.boolean(), fc.array(fc.integer(), { maxLength: 3 })), {
    maxKeys: 3,
  })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

const textBlock = words.map((text): Block => ({ type: "text", text }));
const media: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ mime_type: fc.constantFrom("image/png", "image/webp"), data: base64 }).map((rest) => ({
    type: "image" as const,
    ...rest,
  })),
  fc
    .record({ data: base64 })
    .map((rest) => ({ type: "image" as const, mime_type: "image/png", ...rest, detail: "low" })),
  fc
    .record({ mime_type: fc.constantFrom("audio/mpeg", "audio/wav", "audio/flac"), data: base64 })
    .map((rest) => ({ type: "audio" as const, ...rest })),
  fc.record({ data: base64 }).map((rest) => ({ type: "file" as const, mime_type: "application/pdf", ...rest })),
  fc.record({ data: base64, filename: fc.constant("a.pdf") }).map((rest) => ({
    type: "file" as const,
    mime_type: "application/pdf",
    ...rest,
  })),
);

const use = fc.record({ name, input: json });
/** A user's words; then an answer, with calls or without, and what came of them. */
const exchange = fc.record({
  said: fc.array(fc.oneof(textBlock, media), { minLength: 1, maxLength: 3 }),
  answer: fc.array(textBlock, { maxLength: 2 }),
  calls: fc.array(fc.record({ use, result: fc.array(textBlock, { maxLength: 2 }) }), { maxLength: 3 }),
});

export const canonical: fc.Arbitrary<Message[]> = fc
  .array(exchange, { minLength: 1, maxLength: 5 })
  .map((exchanges) => {
    const messages: Message[] = [];
    let results: Block[] = [];
    for (const [at, { said, answer, calls }] of exchanges.entries()) {
      messages.push({ role: "user", content: [...results, ...said] });
      const uses = calls.map(({ use }, n): Block => ({ type: "tool_use", id: `c_${at}_${n}`, ...use }));
      results = calls.map(
        ({ result }, n) => ({ type: "tool_result", tool_use_id: `c_${at}_${n}`, content: result }) as Block,
      );
      const content = [...answer, ...uses];
      messages.push({ role: "assistant", content: content.length > 0 ? content : [{ type: "text", text: "." }] });
    }
    if (results.length > 0) messages.push({ role: "user", content: results });
    return messages;
  });

const textPart = words.map((text): OpenaiPart => ({ type: "text", text }));
const part: fc.Arbitrary<OpenaiPart> = fc.oneof(
  textPart,
  base64.map((data): OpenaiPart => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } })),
  base64.map((data): OpenaiPart => ({ type: "input_audio", input_audio: { data, format: "mp3" } })),
  fc.record({ data: base64, filename: words }).map(({ data, filename }): OpenaiPart => ({
    type: "file",
    file: { file_data: `data:application/pdf;base64,${data}`, filename },
  })),
);
/** Several parts, or one that is no text; one text alone is a string. */
const parts = fc
  .array(part, { minLength: 1, maxLength: 3 })
  .map((parts) => (parts.length === 1 && parts[0]!.type === "text" ? (parts[0]!.text as string) : parts));

const turn = fc.record({
  said: parts,
  answer: fc.option(words),
  calls: fc.array(fc.record({ name, input: json, result: fc.oneof(fc.constant(""), words) }), { maxLength: 3 }),
});

export const openai: fc.Arbitrary<OpenaiMessage[]> = fc
  .record({ system: fc.option(words), turns: fc.array(turn, { minLength: 1, maxLength: 5 }) })
  .map(({ system, turns }) => {
    const messages: OpenaiMessage[] = system === null ? [] : [{ role: "system", content: system }];
    for (const [at, { said, answer, calls }] of turns.entries()) {
      messages.push({ role: "user", content: said });
      const tool_calls = calls.map(({ name, input }, n) => ({
        id: `c_${at}_${n}`,
        type: "function" as const,
        function: { name, arguments: JSON.stringify(input) },
      }));
      const content = answer ?? (calls.length > 0 ? null : "yes");
      messages.push({ role: "assistant", content, ...(calls.length > 0 ? { tool_calls } : {}) });
      for (const [n, { result }] of calls.entries()) {
        messages.push({ role: "tool", tool_call_id: `c_${at}_${n}`, content: result });
      }
    }
    return messages;
  });

/** Whatever a context may render, sense or none. */
const anyBlock: fc.Arbitrary<Block> = fc.oneof(
  fc.constantFrom("", " ", "\n\u00a0", "a", "b").map((text): Block => ({ type: "text", text })),
  fc
    .record({ thinking: words, signature: fc.constantFrom("mine", "another's") }, { requiredKeys: ["thinking"] })
    .map((rest): Block => ({ type: "thinking", ...rest }) as Block),
  fc
    .record({
      id: fc.constantFrom("a", "b", "c"),
      name: fc.constantFrom("read", "a b", ""),
      input: fc.constantFrom({}, null),
    })
    .map((rest): Block => ({ type: "tool_use", ...rest })),
  fc
    .record({ tool_use_id: fc.constantFrom("a", "b", "c"), is_error: fc.boolean() })
    .map((rest): Block => ({ type: "tool_result", content: [{ type: "text", text: "" }], ...rest })),
  fc.constantFrom("", "AAAA").map((data): Block => ({ type: "image", mime_type: "image/png", data })),
);
const noise: fc.Arbitrary<Message[]> = fc.array(
  fc.record({
    role: fc.constantFrom("user" as const, "assistant" as const),
    content: fc.array(anyBlock, { maxLength: 4 }),
  }),
  { maxLength: 8 },
);

/** A sound conversation, cut into pieces, with blocks thrown in that should not be there. */
const damaged: fc.Arbitrary<Message[]> = fc
  .tuple(canonical, fc.array(fc.tuple(fc.nat(40), anyBlock), { maxLength: 4 }), fc.boolean())
  .map(([messages, thrown, cut]) => {
    const pieces = cut
      ? messages.flatMap(({ role, content }) => content.map((block) => ({ role, content: [block] })))
      : messages.map(({ role, content }) => ({ role, content: [...content] }));
    for (const [at, block] of thrown) pieces[at % pieces.length]!.content.push(block);
    return pieces;
  });
export const anything = fc.oneof(noise, damaged);
