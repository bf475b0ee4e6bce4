import type { LanguageModelV4, ProviderV4 } from "@ai-sdk/provider";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BytebotError } from "bytebot/sdk";
import { knownOf } from "./known.ts";
import { asV4 } from "./versions.ts";

/** What every provider package of the AI SDK takes, and settings of its own. */
export interface ProviderSettings extends Record<string, unknown> {
  apiKey?: string;
  baseURL?: string;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

/** A model by its name, in this package's way of saying which interface it is of. */
export type Models = (model: string, api: "responses" | "chat" | undefined) => LanguageModelV4;

/**
 * The package that speaks to a provider, loaded when it is first asked for: from beside this one, else from where the
 * program runs. Rejects with `not_found` (not installed) and `invalid_params` (no provider package), each with the fix.
 */
export async function loadProvider(provider: string): Promise<(settings: ProviderSettings) => Models> {
  const { package: name, factory } = knownOf(provider);
  const module = await importFrom(name, provider);
  const create = (factory === "" ? theFactory(module) : module[factory]) as
    ((settings: ProviderSettings) => ProviderV4) | undefined;
  if (typeof create !== "function") {
    throw new BytebotError(
      "invalid_params",
      `the package ${name} has no provider of the AI SDK (no one function named create…): set opts.provider to a package that has`,
    );
  }
  return (settings) => {
    const made = create(settings) as ProviderV4 & { chat?: (model: string) => LanguageModelV4 };
    return (model, api) => asV4(api === "chat" && made.chat ? made.chat(model) : made.languageModel(model));
  };
}

/** `create` and the name of what it makes is what such packages export. */
function theFactory(module: Record<string, unknown>): unknown {
  const found = Object.keys(module).filter((name) => /^create[A-Z]/.test(name) && typeof module[name] === "function");
  return found.length === 1 ? module[found[0] as string] : undefined;
}

async function importFrom(name: string, provider: string): Promise<Record<string, unknown>> {
  const problems: string[] = [];
  for (const base of [import.meta.url, pathToFileURL(join(process.cwd(), "package.json")).href]) {
    try {
      const file = createRequire(base).resolve(name);
      return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    } catch (error) {
      problems.push(error instanceof Error ? (error.message.split("\n")[0] as string) : String(error));
    }
  }
  throw new BytebotError(
    "not_found",
    `the provider "${provider}" needs the package ${name}, which cannot be loaded (${problems.at(-1)}): run npm install ${name} where this program runs, or set opts.provider to another`,
  );
}
