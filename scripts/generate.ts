/**
 * Writes the JSON Schemas that come from the zod schemas, the spec's list of what `bytebot check` looks at, so that nothing
 * is said twice, and the golden transcripts, each from a run of its script. With --check it writes nothing and exits 1
 * naming each file that is not up to date. `--to folder` writes below another folder than this checkout.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { z } from "zod";
// The sources, not dist: what is generated never depends on whether something was built.
import type { Check } from "../packages/bytebot/src/check/check.ts";
import { checks } from "../packages/bytebot/src/check/table.ts";
import { AppFile } from "../packages/bytebot/src/resolve/appfile.ts";
import { Manifest } from "../packages/bytebot/src/resolve/manifest.ts";
import * as wire from "../packages/bytebot/src/wire/index.ts";
import { lanes, transcript } from "../packages/bytebot/test/transcripts/normal.ts";
import { scripts } from "../packages/bytebot/test/transcripts/scripts/index.ts";
import { play } from "../packages/bytebot/test/transcripts/ways.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Shapes that many events hold: one definition each. */
const shared = {
  Block: wire.Block,
  InputBlock: wire.InputBlock,
  TextBlock: wire.TextBlock,
  ThinkingBlock: wire.ThinkingBlock,
  ToolUseBlock: wire.ToolUseBlock,
  ToolResultBlock: wire.ToolResultBlock,
  BlobBlock: wire.BlobBlock,
  Message: wire.Message,
  OpenaiMessage: wire.OpenaiMessage,
  OpenaiTool: wire.OpenaiTool,
  OpenaiToolChoice: wire.OpenaiToolChoice,
  Usage: wire.Usage,
  Error: wire.WireErrorShape,
  PolicyRule: wire.PolicyRule,
  ComponentInfo: wire.ComponentInfo,
};

function wireSchema(): object {
  const named = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...shared, ...wire.schemas })) named.add(schema, { id });
  const { schemas } = z.toJSONSchema(named, { uri: (id) => `#/$defs/${id}`, io: "input" });
  const $defs = Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, definition(schema)]));
  return {
    $schema: DIALECT,
    title: "An event of the ByteBot wire, protocol version 1",
    description:
      "One JSON object a line. What JSON Schema cannot say (scopes, limits, who may send what) is in WIRE.md.",
    oneOf: Object.keys(wire.schemas).map((type) => ({ $ref: `#/$defs/${type}` })),
    $defs,
  };
}

/** Inside another schema: without what only the root of a document says. */
function definition({ $schema: _schema, $id: _id, ...schema }: Record<string, unknown>): object {
  return schema;
}

function fileSchema(title: string, schema: z.ZodType): object {
  return { $schema: DIALECT, title, ...z.toJSONSchema(schema, { io: "input" }) };
}

/** The spec, with the rules of each kind that the checks cover between its two marks. */
function withChecks(spec: string): string {
  const every = rulesOf(({ kinds, over }) => kinds.length === wire.kinds.length && !isHttp(over));
  const own = wire.kinds.map((kind) => {
    const rules = rulesOf(({ kinds, over }) => kinds.includes(kind) && !isHttp(over));
    return `- \`${kind}\`: ${rules.filter((rule) => !every.includes(rule)).join(", ")}`;
  });
  const overHttp = [
    `- what serves HTTP: ${rulesOf(({ over }) => over === "serves").join(", ")}`,
    `- what dials in: ${rulesOf(({ over }) => over === "dials").join(", ")}`,
  ];
  return withList(spec, "checks", [`- every kind: ${every.join(", ")}`, ...own, ...overHttp]);
}

/** The text with these lines between its two marks. Throws where it has lost them. */
function withList(text: string, what: string, lines: string[]): string {
  const start = text.indexOf(`<!-- ${what}:`);
  const end = text.indexOf(`<!-- end of ${what} -->`);
  if (start === -1 || end < start) throw new Error(`the marks of the list of ${what} are lost`);
  const head = text.slice(start, text.indexOf("\n", start) + 1);
  return `${text.slice(0, start)}${head}\n${lines.join("\n")}\n\n${text.slice(end)}`;
}

function isHttp(over: Check["over"]): boolean {
  return over === "serves" || over === "dials";
}

function rulesOf(of: (check: Check) => boolean): string[] {
  const rules = new Set(checks.filter(of).map(({ rule }) => rule));
  return [...rules].toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

const { values } = parseArgs({ options: { check: { type: "boolean", default: false }, to: { type: "string" } } });
const root = values.to ?? join(import.meta.dirname, "..");

/** Each script by itself, all at once: the time of the one that waits longest. */
const transcripts = await Promise.all(
  scripts.map(async (script) => {
    const text = transcript(script, await play(script, "in-proc"));
    return [`spec/transcripts/${script.name}.jsonl`, text] as const;
  }),
);
const written = async (name: string): Promise<string> =>
  (await readFile(join(import.meta.dirname, "..", name), "utf8")).replaceAll("\r\n", "\n");
const files: Record<string, string> = {
  "packages/bytebot/manifest.schema.json": json(
    fileSchema("bytebot.component.json: what a component is and how to start it", Manifest),
  ),
  "packages/bytebot/app.schema.json": json(
    fileSchema("bytebot.app.json: the components of an app, and what holds for them", AppFile),
  ),
  "spec/wire.schema.json": json(wireSchema()),
  "spec/WIRE.md": withChecks(await written("spec/WIRE.md")),
  "spec/README.md": withList(
    await written("spec/README.md"),
    "transcripts",
    scripts.map(({ name, about }) => `- \`${name}\`: ${about}`),
  ),
  ...Object.fromEntries(transcripts),
};

for (const [name, text] of Object.entries(files)) {
  const file = join(root, name);
  const there = await current(file);
  if (there === text || (there !== undefined && isTranscript(name) && isSame(there, text))) continue;
  if (values.check) {
    console.error(`${name} is not up to date: run npm run generate`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    console.log(`wrote ${name}`);
  }
}

function isTranscript(name: string): boolean {
  return name.startsWith("spec/transcripts/");
}

/** The order between connections is that of one run: where nothing else differs, the file stays as it is. */
function isSame(there: string, text: string): boolean {
  return isDeepStrictEqual(lanes(there), lanes(text));
}

/** As a checkout with CRLF line ends would show it; undefined where there is none. */
async function current(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).replaceAll("\r\n", "\n");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
