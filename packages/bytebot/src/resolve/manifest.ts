import { z } from "zod";
import { BytebotError, kinds, ScopePattern } from "../wire/index.ts";
import { parseAs, readJson } from "./jsonfile.ts";

export const MANIFEST_FILE = "bytebot.component.json";

export const EnvNames = z
  .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "an environment variable's name is letters, digits and _"), {
    error: `a list of environment variable names is needed, as in ["SERVICE_KEY"]: names, not values`,
  })
  .describe("Names of the environment variables the component may read.");

const Command = z
  .array(z.string().min(1, "an empty word: leave it out"), {
    error: `a list of words is needed, as in ["node", "dist/main.js"]: no shell splits it`,
  })
  .min(1, `the program is missing, as in ["node", "dist/main.js"]`);

/** How the component is reached: a child process, a module of this process, or two URLs. */
export const Entry = z.discriminatedUnion(
  "type",
  [
    z.looseObject({
      type: z.literal("stdio"),
      command: Command.describe("Program and arguments; runs in the manifest's folder."),
    }),
    z.looseObject({
      type: z.literal("inproc"),
      module: z
        .string({ error: `a module's path is needed, as in "./dist/index.js"` })
        .min(1, `a module's path is needed, as in "./dist/index.js"`)
        .describe("A module inside the manifest's folder; it exports main."),
    }),
    z.looseObject({
      type: z.literal("http"),
      stream: address("stream"),
      inbox: address("inbox"),
    }),
  ],
  { error: `an entry is needed, with "type" one of "stdio", "inproc", "http"` },
);
export type Entry = z.infer<typeof Entry>;

/** bytebot.component.json: what a component is and how to start it. Unknown fields are kept and ignored. */
export const Manifest = z.looseObject(
  {
    schema_version: z.literal(1).describe("The version of this file's format."),
    kind: z.enum(kinds, { error: `one of ${kinds.map((kind) => `"${kind}"`).join(", ")} is needed` }),
    language: text().optional(),
    name: text().max(64, "at most 64 characters").optional(),
    version: text().max(64, "at most 64 characters").optional(),
    entry: Entry,
    env: EnvNames.optional(),
    scopes: z.array(ScopePattern, { error: `a list of scopes is needed, as in ["u_7f3a"]` }).optional(),
    capabilities: z.record(z.string(), z.unknown(), { error: "an object is needed" }).optional(),
  },
  { error: "a JSON object is needed" },
);
export type Manifest = z.infer<typeof Manifest>;

function address(path: string) {
  const error = `a URL is needed, as in "http://site:8081/${path}"`;
  return z
    .string({ error })
    .refine((value) => value !== "" && URL.canParse(value, "http://site"), { error })
    .meta({ format: "uri-reference" })
    .describe("Where the manifest is served, it may be relative to its own URL.");
}

function text() {
  return z.string({ error: "text is needed" }).min(1, "an empty text: leave it out");
}

/**
 * Reads and checks a manifest. Throws BytebotError: `not_found`, `unsupported_version`, or `invalid_params` with the line
 * and column of broken JSON or the first field that is wrong.
 */
export async function readManifest(file: string): Promise<Manifest> {
  return parseManifest(await readJson(file), file);
}

/** Checks a manifest that was read from `file`, a path or a URL; throws like `readManifest`. */
export function parseManifest(json: unknown, file: string): Manifest {
  // First, because in another version every other field may mean something else.
  const version =
    typeof json === "object" && json !== null && "schema_version" in json ? json.schema_version : undefined;
  if (version === undefined)
    throw new BytebotError("invalid_params", `${file}: "schema_version" is missing: write "schema_version": 1`);
  if (version !== 1) {
    const message = `${file}: "schema_version" is ${JSON.stringify(version)}, and this ByteBot reads version 1: update bytebot, or write the manifest for version 1`;
    throw new BytebotError("unsupported_version", message);
  }
  return parseAs(Manifest, json, file);
}
