import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const here = new URL("../", import.meta.url);
const page = readFileSync(new URL("../../../../spec/HARD-CASES.md", import.meta.url), "utf8");

test("every test that the list of hard cases names is there, under that name", () => {
  const rows = [...page.matchAll(/^\|[^|]*\|[^|]*\| `([^`]+)`: (.+?) +\|$/gm)];
  const missing = rows.flatMap(([, file = "", name = ""]) => {
    const url = new URL(file.replace(/^bb-infer\//, "../../../satellites/bb-infer/test/"), here);
    const found =
      existsSync(url) && [`"${name}"`, `\`${name}\``].some((text) => readFileSync(url, "utf8").includes(text));
    return found ? [] : [`${file}: ${name}`];
  });
  assert.deepEqual(missing, []);
  const listed = page.split("\n").filter((line) => /^\|.*\.ts`/.test(line));
  assert.equal(rows.length, listed.length, "each row could be read");
  assert.ok(rows.length > 50);
});
