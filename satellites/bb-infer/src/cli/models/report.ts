import { toReport } from "bytebot/wire";
import { pinned } from "../../weights/index.ts";
import type { Model, Place } from "./places.ts";

const MEGABYTE = 1_000_000;

/** A place for people: where it is, then its models, one a line. */
export function told(place: Place): string {
  const { models, more } = place;
  const width = Math.min(40, Math.max(0, ...models.map(({ id }) => id.length)));
  return [heading(place), ...models.map((model) => `  ${line(model, width)}`), ...(more ? ["  … and more"] : [])].join(
    "\n",
  );
}

function heading({ provider, base_url, api_key_env, state, error }: Place): string {
  const at = base_url === null ? "" : `, ${toReport(base_url)}`;
  const size = `${Math.round(pinned.bytes / MEGABYTE)} MB`;
  const key = api_key_env === null ? "" : `, the key in ${api_key_env}`;
  switch (state) {
    case "listed":
      return `${provider}${at}${key}`;
    case "no_key":
      return `${provider}: ${api_key_env} is not set`;
    case "silent":
      return `${provider}: nothing answers at ${base_url}`;
    case "failed":
      return `${provider}: ${toReport(error ?? "")}`;
    case "unlisted":
      return `${provider}${key}: its models are not listed here`;
    case "on_disk":
      return `${provider}, in this process: ${size}, on disk`;
    case "download":
      return `${provider}, in this process: ${size}, downloaded when it is first used`;
  }
}

function line({ id, context_tokens, capabilities, price }: Model, width: number): string {
  const context = context_tokens === null ? "context unknown" : `${context_tokens.toLocaleString("en")} tokens`;
  const costs =
    price === null
      ? "price unknown"
      : price.input + price.output === 0
        ? "free"
        : `$${price.input} in, $${price.output} out`;
  return `${toReport(id).padEnd(width)}  ${context.padStart(16)}  ${costs.padEnd(20)}  ${abilities(capabilities)}`.trimEnd();
}

/** What is announced, in a few words. */
function abilities(capabilities: Model["capabilities"]): string {
  if (capabilities === null) return "";
  const { tools, media } = capabilities as { tools?: { xml?: { dialect?: string } }; media?: unknown };
  const kinds = Array.isArray(media) ? new Set(media.map((type) => String(type).split("/")[0])) : new Set<string>();
  const named = ["thinking", "structured_output", "prompt_cache"].filter((name) => capabilities[name]);
  return [
    tools?.xml ? `tools as text (${tools.xml.dialect})` : "tools",
    ...["image", "audio", "video"].filter((kind) => kinds.has(kind)),
    ...(Array.isArray(media) && media.includes("application/pdf") ? ["pdf"] : []),
    ...named.map((name) => name.replace("_", " ")),
  ].join(", ");
}
