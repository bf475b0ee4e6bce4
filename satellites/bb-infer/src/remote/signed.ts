import type { SharedV4ProviderMetadata } from "@ai-sdk/provider";

/** What a provider gave along with its words, to get it back unchanged. */
export type Metadata = SharedV4ProviderMetadata;

/**
 * Metadata in one text, the `signature` of a thinking block: Anthropic's own as it is, anything else as JSON with whose it
 * is. The Hub keeps it byte for byte, and leaves it out for another model (rule CNV-8).
 */
export function toSignature(metadata: Metadata, by: string, isPrimary: boolean): string {
  const { signature, ...more } = metadata["anthropic"] ?? {};
  const plain = isAnthropic(by) && isPrimary && typeof signature === "string" && Object.keys(more).length === 0;
  return plain ? signature : JSON.stringify({ by, options: metadata });
}

/** Back again; undefined where another model signed it: a fallback may have answered where the Hub asked for this one. */
export function fromSignature(signature: string, by: string, isPrimary: boolean): Metadata | undefined {
  if (!signature.startsWith(`{"by":`))
    return signature !== "" && isPrimary && isAnthropic(by) ? { anthropic: { signature } } : undefined;
  try {
    return optionsOf(JSON.parse(signature), by);
  } catch {
    return undefined; // what begins like ours and is cut was never ours
  }
}

/** The metadata of `{by, options}`, where this model gave it. */
export function optionsOf(kept: unknown, by: string): Metadata | undefined {
  if (typeof kept !== "object" || kept === null) return undefined;
  const { by: whose, options } = kept as { by?: unknown; options?: unknown };
  return whose === by && typeof options === "object" && options !== null ? (options as Metadata) : undefined;
}

/** Two pieces of metadata as one; what says nothing takes nothing away. */
export function merged(before: Metadata | undefined, more: Metadata | undefined): Metadata | undefined {
  if (!before || !more) return before ?? more;
  const all: Metadata = { ...before };
  for (const [name, fields] of Object.entries(more)) {
    const said = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
    all[name] = { ...all[name], ...Object.fromEntries(said) };
  }
  return all;
}

/** Does it say anything? */
export function isEmpty(metadata: Metadata | undefined): boolean {
  return !Object.values(metadata ?? {}).some((fields) =>
    Object.values(fields).some((value) => value !== undefined && value !== null),
  );
}

function isAnthropic(by: string): boolean {
  return by.startsWith("anthropic/");
}
