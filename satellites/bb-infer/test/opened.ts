import type { TestContext } from "node:test";
import type { BytebotError, InferEnd } from "bytebot/sdk";
import { choose } from "../src/choose.ts";
import { open } from "../src/open.ts";
import type { Provider } from "../src/provider.ts";
import { Collected, request, said } from "./collected.ts";
import type { ScriptedServer } from "./scripted-server.ts";

/** Options of a model that is asked once. */
export const quick = { retry: { tries: 1 } };

/** What answers with these options, closed when the test ends. */
export async function opened(t: TestContext, opts: Record<string, unknown>): Promise<Provider> {
  const provider = await open(await choose(opts, { env: {}, local: [] }), {
    signal: AbortSignal.timeout(20_000),
    env: {},
  });
  t.after(() => provider.close());
  return provider;
}

/** One request, whatever becomes of it. */
export async function asked(
  provider: Provider,
  more: Partial<Parameters<typeof request>[0]> = {},
  abort = AbortSignal.timeout(20_000),
  reply = new Collected(),
): Promise<{ reply: Collected; end?: InferEnd; error?: BytebotError }> {
  try {
    const context = { signal: abort, drained: () => Promise.resolve() };
    const end = await provider.infer(request({ messages: [said("Hello")], ...more }), reply, context);
    return { reply, end };
  } catch (error) {
    return { reply, error: error as BytebotError };
  }
}

export const at = (server: ScriptedServer, model = "m") => ({ base_url: server.baseUrl, model });
