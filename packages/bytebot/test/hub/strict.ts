import assert from "node:assert/strict";
import { schemas, type Event } from "../../src/wire/index.ts";

interface Block {
  type: string;
  text?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  signature?: string;
  is_error?: boolean;
  content?: Block[];
}

interface OpenaiMessage {
  role: string;
  content?: string | null | { type: string; text?: string }[];
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/**
 * What the strictest provider asks of a request, written down a second time: every `bb_infer_request` of every test of
 * the Hub is held against it. Throws what is wrong.
 */
export function checkStrict(request: Event): void {
  schemas.bb_infer_request.parse(request);
  if (request["api_shape"] === "openai") checkOpenai(request["messages"] as OpenaiMessage[]);
  else checkAnthropic(request["messages"] as { role: string; content: Block[] }[]);
}

function checkAnthropic(messages: { role: string; content: Block[] }[]): void {
  assert.ok(messages.length > 0, "a request has messages");
  const ids: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const where = `message ${index}`;
    assert.equal(role, index % 2 === 0 ? "user" : "assistant", `${where}: roles alternate, the user's first`);
    assert.ok(content.length > 0, `${where} is empty`);
    for (const block of content) checkBlock(block, role, where);
    const uses = content.filter(({ type }) => type === "tool_use").map(({ id }) => id!);
    ids.push(...uses);
    const before = (messages[index - 1]?.content ?? []).filter(({ type }) => type === "tool_use").map(({ id }) => id!);
    const answered = content.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id!);
    assert.deepEqual(answered.toSorted(), before.toSorted(), `${where} answers the calls before it, and no other`);
    const first = content.slice(0, answered.length);
    assert.ok(
      first.every(({ type }) => type === "tool_result"),
      `${where}: results come first`,
    );
    if (index === messages.length - 1) assert.deepEqual(uses, [], "the last message leaves no call open");
    if (role === "assistant") assert.notEqual(content.at(-1)!.type, "thinking", `${where} ends with thinking`);
  }
  assert.equal(new Set(ids).size, ids.length, "each call has an id of its own");
}

const PLACES: Record<string, string[]> = {
  user: ["text", "image", "audio", "file", "blob", "tool_result"],
  assistant: ["text", "image", "audio", "file", "blob", "thinking", "tool_use"],
};

function checkBlock(block: Block, role: string, where: string): void {
  assert.ok(PLACES[role]!.includes(block.type), `${where}: a ${role} says ${block.type}`);
  if (block.type === "text") assert.match(block.text!, /\S/, `${where}: blank text`);
  if (block.data !== undefined) assert.notEqual(block.data, "", `${where}: ${block.type} without bytes`);
  if (block.type === "thinking") {
    assert.equal(typeof block.signature, "string", `${where}: thinking without a signature`);
    assert.ok(!("origin" in block), `${where}: origin is the Hub's own`);
  }
  if (block.type === "tool_use") {
    assert.match(block.name!, /^[\w-]{1,64}$/, `${where}: the name of a call`);
    assert.ok(
      typeof block.input === "object" && block.input !== null && !Array.isArray(block.input),
      `${where}: input`,
    );
  }
  if (block.type === "tool_result") {
    for (const part of block.content!) checkBlock(part, "user", where);
    if (block.is_error) assert.ok(block.content!.length > 0, `${where}: an error says something`);
  }
}

function checkOpenai(messages: OpenaiMessage[]): void {
  const said = messages.slice(messages[0]?.role === "system" ? 1 : 0);
  assert.equal(said[0]?.role, "user", "the user's message is first");
  let open: string[] = [];
  let last = "";
  for (const { role, content, tool_calls = [], tool_call_id } of said) {
    if (role === "tool") {
      assert.ok(open.includes(tool_call_id!), `the result of ${tool_call_id} follows its call`);
      open = open.filter((id) => id !== tool_call_id);
    } else {
      assert.deepEqual(open, [], "each call has its result behind it");
      assert.notEqual(role, last, "roles alternate");
      assert.ok(tool_calls.length > 0 || (content ?? "").length > 0, `an empty ${role} message`);
      for (const part of Array.isArray(content) ? content : []) {
        if (part.type === "text") assert.match(part.text!, /\S/, "blank text");
      }
    }
    for (const call of tool_calls) {
      assert.match(call.function.name, /^[\w-]{1,64}$/);
      const input: unknown = JSON.parse(call.function.arguments);
      assert.ok(typeof input === "object" && input !== null && !Array.isArray(input), "arguments are an object");
      open.push(call.id);
    }
    last = role;
  }
  assert.deepEqual(open, [], "the last message leaves no call open");
}
