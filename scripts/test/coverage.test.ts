import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runnableOf } from "../coverage/branches.ts";
import { Counts } from "../coverage/counts.ts";
import { runNode } from "../run.ts";

/** The branches that this program does not take when it runs, as `line: what`. */
async function missed(program: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "bytebot-coverage-test-"));
  const before = process.env["NODE_V8_COVERAGE"];
  try {
    const file = join(folder, "program.ts");
    const counts = join(folder, "counts");
    writeFileSync(file, program);
    process.env["NODE_V8_COVERAGE"] = counts;
    const { ok, output } = await runNode([file], 60_000);
    assert.ok(ok, output);
    const counted = new Counts(counts, (each) => each === file);
    const { branches } = await runnableOf(program);
    return branches
      .filter(({ at, less }) => counted.at(file, at) - (less === undefined ? 0 : counted.at(file, less)) <= 0)
      .map(({ line, what }) => `${line}: ${what}`);
  } finally {
    if (before === undefined) delete process.env["NODE_V8_COVERAGE"];
    else process.env["NODE_V8_COVERAGE"] = before;
    rmSync(folder, { recursive: true, force: true });
  }
}

test("of each decision the way that was not gone is found, an absent else too", async () => {
  const program = [
    "function f(a: number, b?: number): number {",
    "  let sum: number = a;",
    "  if (a > 0) sum++;",
    "  if (a > 1) sum++;",
    "  sum += b ?? 1;",
    "  const both = a > 0 && sum > 0 && sum < 100;",
    "  switch (a) { case 1: return 1; case 2: case 3: sum--; break; default: sum = 0; }",
    "  for (const x of [] as number[]) sum += x;",
    "  try { sum += both ? 1 : 2; } catch { sum = 0; }",
    "  return sum;",
    "}",
    "f(1); f(2);",
  ];
  assert.deepEqual(await missed(program.join("\n")), [
    "3: false",
    "5: left of ??",
    "6: left of &&",
    "6: left of &&",
    "7: case",
    "8: loop",
    "9: false",
    "9: catch",
  ]);
});

test("what nobody calls takes no branch, and every branch taken is none missed", async () => {
  assert.deepEqual(await missed("export const never = (a: boolean) => (a ? 1 : 2);"), ["1: true", "1: false"]);
  assert.deepEqual(await missed("const f = (a: boolean) => (a ? 1 : 2);\nf(true); f(false);"), []);
});

test("types are no branches, and nothing is counted in a file that only has types", async () => {
  const { branches, statements } = await runnableOf(
    'import type { A } from "./a.ts";\nexport type B<T> = T extends A ? 1 : 2;\nexport interface C { a?: B<A> }\nexport type { A };',
  );
  assert.deepEqual([branches, statements], [[], []]);
});
