import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { findPython, folder, makeEnvironment } from "../python.ts";
import { run } from "../run.ts";

const SETUP_MS = 600_000;
const TESTS_MS = 110_000;

const found = await findPython();
// CI counts a skipped test as a failure: there it has to be.
const skip = found === undefined && "there is no Python 3.11 or later with venv: install python3 and python3-venv";

suite("the Python SDK", { skip }, () => {
  let python: string;

  before(async () => (python = await makeEnvironment(found!)), { timeout: SETUP_MS });

  const passes = async (args: string[]): Promise<string> => {
    const { ok, output } = await run(python, ["-m", ...args], TESTS_MS, folder);
    assert.ok(ok, output);
    return output;
  };

  test("its tests pass, and none is skipped", { timeout: TESTS_MS + 10_000 }, async () => {
    const output = await passes(["pytest"]);
    assert.match(output, /^\d+ passed in /m, output);
  });

  test("its types hold, strictly", { timeout: TESTS_MS + 10_000 }, async () => {
    await passes(["mypy"]);
  });

  test("its lint and its format are clean", async () => {
    await passes(["ruff", "check"]);
    await passes(["ruff", "format", "--check"]);
  });
});
