import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import { openSqliteLog, type Entry } from "bytebot";
import { checkLog } from "../../packages/bytebot/test/hub/invariants.ts";
import { findPython, folder, makeEnvironment } from "../python.ts";
import { run } from "../run.ts";

const SETUP_MS = 600_000;
/** About a minute of an idle machine. */
const TESTS_MS = 230_000;
const APP_MS = 60_000;

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
    // Those of `bytebot check` mostly wait; the others run beside them.
    const outputs = await Promise.all([
      passes(["pytest", "tests/test_check.py"]),
      passes(["pytest", "--ignore=tests/test_check.py"]),
    ]);
    for (const output of outputs) assert.match(output, /^\d+ passed in /m, output);
  });

  test(
    "the log of an app in Python is a Hub's: it holds what must hold of any",
    { timeout: APP_MS + 10_000 },
    async (t) => {
      const place = await mkdtemp(join(tmpdir(), "bytebot-python-"));
      t.after(() => rm(place, { recursive: true }));
      const file = join(place, "app.db");
      const { ok, output } = await run(python, ["tests/apps/turns.py", file], APP_MS, folder);
      assert.ok(ok, output);
      assert.match(output, /^end_turn end_turn interrupted interrupted$/m);
      const { log } = await openSqliteLog({ file });
      t.after(() => log.close());
      const entries: (Entry & { cell: string })[] = [];
      for await (const entry of log.readAll(0, ["*"])) entries.push(entry);
      checkLog(entries, { graceMs: Infinity });
      const types = entries.flatMap(({ events }) => events.map(({ event_type }) => event_type));
      for (const type of ["user_event", "interrupt", "input_state", "bb_tool_call_result", "input_resolved"])
        assert.ok(types.includes(type), type);
    },
  );

  test("its types hold, strictly", { timeout: TESTS_MS + 10_000 }, async () => {
    await passes(["mypy"]);
  });

  test("its lint and its format are clean", async () => {
    await passes(["ruff", "check"]);
    await passes(["ruff", "format", "--check"]);
  });
});
