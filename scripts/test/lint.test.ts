import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { runNode } from "../run.ts";

const root = join(import.meta.dirname, "../..");
const src = "packages/bytebot/src";
const imports = (from: string) => `import { a } from "${from}";\nexport const b = a;\n`;
const importsType = (from: string) => `import type { A } from "${from}";\nexport type B = A;\n`;

/** One file a row: what it holds, and the rule that must refuse it (none: it must pass). */
const files: [path: string, content: string, rule?: string][] = [
  [`${src}/wire/ok.ts`, `import { z } from "zod";\nexport const a = z;\nexport type A = typeof a;\n`],
  [`${src}/wire/events/ok.ts`, imports("../ok.ts")],
  [`${src}/wire/index.ts`, `export * from "./events/ok.ts";\n`],
  [`${src}/wire/node.ts`, imports("node:fs"), "no-restricted-imports"],
  [`${src}/wire/up.ts`, imports("../log/ok.ts"), "no-restricted-imports"],
  [`${src}/wire/events/up.ts`, imports("../../transport/ok.ts"), "no-restricted-imports"],
  [`${src}/log/ok.ts`, `${imports("../wire/ok.ts")}export { a };\n`],
  [`${src}/log/hub.ts`, imports("../hub/ok.ts"), "no-restricted-imports"],
  [`${src}/transport/ok.ts`, `${imports("../wire/ok.ts")}export { a };\nexport type A = typeof a;\n`],
  [`${src}/transport/log.ts`, imports("../log/ok.ts"), "no-restricted-imports"],
  [`${src}/hub/ok.ts`, imports("../log/ok.ts")],
  [`${src}/hub/types.ts`, importsType("../transport/ok.ts")],
  [`${src}/hub/values.ts`, imports("../transport/ok.ts"), "no-restricted-imports"],
  [`${src}/hub/sdk.ts`, importsType("../sdk/ok.ts"), "no-restricted-imports"],
  [`${src}/hub/self.ts`, imports("bytebot/sdk"), "no-restricted-imports"],
  [`${src}/sdk/ok.ts`, imports("../transport/ok.ts")],
  [`${src}/sdk/hub.ts`, importsType("../hub/ok.ts"), "no-restricted-imports"],
  [`${src}/resolve/ok.ts`, imports("../wire/ok.ts")],
  [`${src}/resolve/transport.ts`, imports("../transport/ok.ts"), "no-restricted-imports"],
  [`${src}/app/ok.ts`, `${imports("../hub/ok.ts")}export * from "../resolve/ok.ts";\nexport { a };\n`],
  [`${src}/app/cli.ts`, imports("../cli/ok.ts"), "no-restricted-imports"],
  [`${src}/replay/ok.ts`, imports("../hub/ok.ts")],
  [`${src}/replay/sdk.ts`, imports("../sdk/ok.ts"), "no-restricted-imports"],
  [`${src}/app/replay.ts`, imports("../replay/ok.ts"), "no-restricted-imports"],
  [`${src}/cli/ok.ts`, imports("../app/ok.ts")],
  [`${src}/cli/hub.ts`, imports("../hub/ok.ts"), "no-restricted-imports"],
  [`${src}/cli/demo/ok.ts`, imports("../../sdk/ok.ts")],
  [`${src}/cli/demo/hub.ts`, imports("../../hub/ok.ts"), "no-restricted-imports"],
  ["satellites/bb-x/src/ok.ts", imports("bytebot/sdk")],
  ["satellites/bb-x/src/hub.ts", imports("bytebot"), "no-restricted-imports"],
  ["satellites/bb-x/src/wire.ts", imports("bytebot/wire"), "no-restricted-imports"],
  ["satellites/bb-x/src/cli/wire.ts", imports("bytebot/wire")],
  ["satellites/bb-x/src/cli/hub.ts", imports("bytebot"), "no-restricted-imports"],
  ["satellites/bb-x/src/path.ts", imports("../../../packages/bytebot/src/wire/ok.ts"), "no-restricted-imports"],
  ["examples/x/ok.ts", imports("bytebot")],
  ["examples/x/sdk.ts", imports("bytebot/sdk")],
  ["examples/x/wire.ts", imports("bytebot/wire"), "no-restricted-imports"],
  ["examples/x/path.ts", imports("../../satellites/bb-x/src/ok.ts"), "no-restricted-imports"],
  ["scripts/left.ts", `import { b } from "./right.ts";\nexport const a = () => b;\n`, "no-cycle"],
  ["scripts/right.ts", `import { a } from "./left.ts";\nexport const b = () => a;\n`, "no-cycle"],
  ["scripts/floating.ts", "export function f() {\n  Promise.resolve();\n}\n", "no-floating-promises"],
  ["packages/bytebot/test/ok.ts", `import { test } from "node:test";\ntest("passes", () => {});\n`],
  [
    "packages/bytebot/test/floating.ts",
    `import { test } from "node:test";\nconst f = async () => {};\ntest("floats", () => void f);\nf();\n`,
    "no-floating-promises",
  ],
  ["scripts/misused.ts", "export const f = (p: Promise<boolean>) => (p ? 1 : 2);\n", "no-misused-promises"],
  ["scripts/any.ts", "export const a = (b: any): unknown => b;\n", "no-explicit-any"],
  ["scripts/ignored.ts", "// @ts-ignore\nexport const a: string = 1;\n", "ban-ts-comment"],
  ["scripts/values.ts", `import { b } from "./right.ts";\nexport type B = typeof b;\n`, "consistent-type-imports"],
  ["scripts/long.ts", `${"// line\n".repeat(400)}export {};\n`, "max-lines"],
  ["scripts/short.ts", `${"// line\n".repeat(399)}export {};\n`],
  ["scripts/thrown.ts", `export function f() {\n  throw "text";\n}\n`, "only-throw-error"],
];

test("the lint refuses what the import rules and the coding rules forbid, and nothing else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "bytebot-lint-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const name of [".oxlintrc.json", "tsconfig.base.json"]) await cp(join(root, name), join(folder, name));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const compilerOptions = { composite: false, noEmit: true, allowImportingTsExtensions: true };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ extends: "./tsconfig.base.json", compilerOptions }));
  for (const [path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
  const { output } = await runNode([oxlint, "--type-aware", "--format", "unix"], 60_000, folder);

  const found = new Map<string, Set<string>>();
  for (const [, path = "", rule = ""] of output.matchAll(/^(.+?):\d+:\d+: .* \[\w+\/[\w-]+\(([\w-]+)\)\]$/gm)) {
    found.set(path, (found.get(path) ?? new Set()).add(rule));
  }
  for (const [path, , rule] of files) {
    assert.deepEqual([path, ...(found.get(path) ?? [])], rule === undefined ? [path] : [path, rule], output);
  }
});
