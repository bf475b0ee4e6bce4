import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { BytebotError } from "bytebot/sdk";
import type { Provider } from "../src/provider.ts";
import { openRemote, type RemoteOptions } from "../src/remote/provider.ts";
import { Collected, request, said } from "./collected.ts";
import { ScriptedServer } from "./scripted-server.ts";

const ask = request({ messages: [said("Hello")] });

export interface Outcome {
  reply: Collected;
  end?: Awaited<ReturnType<Provider["infer"]>>;
  error?: BytebotError;
}

/** One request, whatever becomes of it. */
export async function infer(
  server: { baseUrl: string },
  options: Partial<RemoteOptions> & { signal?: AbortSignal; ask?: typeof ask; reply?: Collected } = {},
): Promise<Outcome> {
  const { signal = AbortSignal.timeout(20_000), ask: asked = ask, reply = new Collected(), ...rest } = options;
  try {
    const provider = await openRemote({
      provider: "openai-compatible",
      baseUrl: server.baseUrl,
      model: "m",
      ...rest,
    });
    const end = await provider.infer(asked, reply, { signal, drained: () => Promise.resolve() });
    return { reply, end };
  } catch (error) {
    assert.ok(error instanceof BytebotError, `no BytebotError: ${String(error)}`);
    return { reply, error };
  }
}

/** A server that plays these, until the test ends. */
export async function playing(
  t: TestContext,
  ...answers: Parameters<typeof ScriptedServer.start>
): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(...answers);
  t.after(() => server[Symbol.asyncDispose]());
  return server;
}
