/** What a local server says of a model; what it does not say is absent. */
export interface Told {
  /** It takes a JSON Schema for its answer. */
  structured?: boolean;
  tools?: boolean;
  images?: boolean;
  audio?: boolean;
  thinking?: boolean;
  /** It keeps what it has read, and says how much of that it used. */
  cache?: boolean;
  contextTokens?: number;
}

/** Milliseconds: it is asked before the handshake, which has to be soon. */
const PATIENCE_MS = 700;
const LONGEST = 4 * 1024 * 1024;

interface Asked {
  headers: Record<string, string>;
  signal: AbortSignal;
}

/**
 * Asks a server of one's own what the model can do, in the way of its kind: llama-server, Ollama, LM Studio or vLLM; one
 * whose kind is not known in all four, at once, and the first that answers as such is believed. Nothing, where none does.
 */
export async function probe(
  provider: string,
  baseUrl: string,
  model: string,
  options: { headers?: Record<string, string>; signal: AbortSignal },
): Promise<Told> {
  const root = baseUrl.replace(/\/v\d+\/?$/, "");
  const asked = { headers: options.headers ?? {}, signal: options.signal };
  const ways: Record<string, () => Promise<Told | undefined>> = {
    "llama-server": () => ask(`${root}/props`, asked).then(fromLlamaServer),
    ollama: () => ask(`${root}/api/show`, asked, { model }).then(fromOllama),
    lmstudio: () => ask(`${root}/api/v0/models/${encodeURIComponent(model)}`, asked).then(fromLmStudio),
    vllm: () => ask(`${baseUrl}/models`, asked).then((body) => fromVllm(body, model)),
  };
  // Of the servers that run at home only llama-server speaks another vendor's format.
  const only = ways[Object.hasOwn(ways, provider) ? provider : "llama-server"]!;
  const chosen = provider === "openai-compatible" ? Object.values(ways) : [only];
  const answers = await Promise.all(chosen.map((way) => way()));
  return answers.find((told) => told !== undefined) ?? {};
}

type Body = Record<string, unknown> | undefined;

async function ask(url: string, { headers, signal }: Asked, body?: object): Promise<Body> {
  try {
    const response = await fetch(url, {
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
      headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    if (!response.ok || Number(response.headers.get("content-length") ?? 0) > LONGEST) {
      await response.body?.cancel();
      return undefined;
    }
    const value: unknown = await response.json();
    return typeof value === "object" && value !== null ? (value as Body) : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined; // another kind of server, or none
  }
}

function fromLlamaServer(body: Body): Told | undefined {
  const caps = objectOf(body?.["chat_template_caps"]);
  const modalities = objectOf(body?.["modalities"]);
  if (!caps && !modalities) return undefined;
  return said({
    structured: true,
    cache: true,
    tools: booleanOf(caps?.["supports_tools"]),
    images: booleanOf(modalities?.["vision"]),
    audio: booleanOf(modalities?.["audio"]),
    contextTokens: numberOf(objectOf(body?.["default_generation_settings"])?.["n_ctx"]),
  });
}

function fromOllama(body: Body): Told | undefined {
  const { capabilities } = body ?? {};
  if (!Array.isArray(capabilities)) return undefined;
  const info = Object.entries(objectOf(body?.["model_info"]) ?? {});
  return said({
    structured: true,
    tools: capabilities.includes("tools"),
    images: capabilities.includes("vision"),
    thinking: capabilities.includes("thinking"),
    contextTokens: numberOf(info.find(([name]) => name.endsWith(".context_length"))?.[1]),
  });
}

function fromLmStudio(body: Body): Told | undefined {
  if (typeof body?.["type"] !== "string" || body["max_context_length"] === undefined) return undefined;
  const { capabilities } = body;
  return said({
    structured: true,
    tools: Array.isArray(capabilities) ? capabilities.includes("tool_use") : undefined,
    images: body["type"] === "vlm",
    contextTokens: numberOf(body["loaded_context_length"] ?? body["max_context_length"]),
  });
}

function fromVllm(body: Body, model: string): Told | undefined {
  const { data } = body ?? {};
  if (!Array.isArray(data)) return undefined;
  const found = data.map(objectOf).find((one) => one?.["id"] === model);
  const length = numberOf(found?.["max_model_len"]);
  return length === undefined ? undefined : { structured: true, contextTokens: length };
}

function said(told: { [Name in keyof Told]: Told[Name] | undefined }): Told {
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)) as Told;
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}
