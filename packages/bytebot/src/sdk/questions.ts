import { AsyncLocalStorage } from "node:async_hooks";
import type { InputResult } from "../wire/index.ts";
import type { Connection } from "./connection.ts";
import { newId } from "./outgoing.ts";
import { resolveScope } from "./scoped.ts";
import { isZod, jsonSchema, type Answer, type Question, type ToolCall } from "./tools.ts";

/** The call that the code which runs is part of, so that `satellite.ask` within a tool is about it. */
const calls = new AsyncLocalStorage<{ connection: Connection; call: ToolCall }>();

export function inCall<T>(connection: Connection, call: ToolCall, run: () => T): T {
  return calls.run({ connection, call }, run);
}

/** Asks within the call that runs, or, where none does (a context), in the scope. */
export function ask(connection: Connection, scope: string | null, question: Question): Promise<Answer> {
  const current = calls.getStore();
  // In one process a tool may call what another satellite asks with: that is not about its call.
  if (current?.connection === connection) return current.call.ask(question);
  return pose(connection, { scope: resolveScope(scope) }, question, connection.signal);
}

/** How long a person may take is the Hub's to say. */
export async function pose(
  connection: Connection,
  about: { scope: string; call_id?: string },
  { prompt, schema, options }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const event = {
    event_type: "bb_input_request",
    id: newId("q"),
    ...about,
    prompt,
    schema: schema && isZod(schema) ? jsonSchema(schema, "the question") : schema,
    options,
  };
  const { outcome, value } = (await connection.request(event, { timeoutMs: Infinity, signal })) as InputResult;
  return { outcome, value };
}
