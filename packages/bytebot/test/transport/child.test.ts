import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test, type TestContext } from "node:test";
import { child, type ChildOptions, type Link } from "../../src/transport/index.ts";
import { BytebotError, standard } from "../../src/wire/index.ts";
import { becomes, Ears } from "./ears.ts";
import { carrying, childrenOf, isRunning } from "./processes.ts";
import { fixtures, stubborn } from "./wrappers.ts";

interface Started {
  link: Link;
  ears: Ears;
  stderr: string[];
}

async function start(t: TestContext, command: readonly string[], more: Partial<ChildOptions> = {}): Promise<Started> {
  const ears = new Ears();
  const stderr: string[] = [];
  const onStderr = (line: string): void => void stderr.push(line);
  const options = {
    name: "the satellite",
    command,
    cwd: fixtures,
    env: {},
    allowEnv: [],
    onStderr,
    graceMs: 100,
    ...more,
  };
  const link = await child(options)(ears, t.signal);
  t.after(() => link.close("the test is over"));
  return { link, ears, stderr };
}

/** A program in one line of JavaScript. */
const program = (code: string, ...args: string[]): string[] => ["node", "-e", code, ...args];
const say = (event: string): string => `console.log(JSON.stringify(${event}))`;

suite("what a child is given", { concurrency: 3 }, () => {
  test("its arguments are literal: no shell reads $(), quotes, globs or newlines (CON-8)", async (t) => {
    const args = ["$(touch /tmp/never)", "`id`", "a 'b' \"c\"", "two\nlines", "*", "", "--", "ñ😀", "\\"];
    const { ears } = await start(t, program(say('{event_type:"argv",argv:process.argv.slice(1)}'), "--", ...args));
    assert.deepEqual((await ears.next("argv"))["argv"], args);
  });

  test("its environment is PATH, HOME, the locale and what was listed, never the rest of ours (CON-8)", async (t) => {
    Object.assign(process.env, { BYTEBOT_TEST_SECRET: "s3cret", BYTEBOT_TEST_LISTED: "yes", LC_TEST: "C" });
    const { ears } = await start(t, program(say('{event_type:"env",env:process.env}')), {
      allowEnv: ["BYTEBOT_TEST_LISTED", "BYTEBOT_TEST_UNSET"],
      env: { GIVEN: "by the app" },
    });
    const env = (await ears.next("env"))["env"] as Record<string, string>;
    const known = new Set(["PATH", "HOME", "LANG", "TZ", "TMPDIR", "BYTEBOT_TEST_LISTED", "GIVEN", "BYTEBOT_GROUP"]);
    assert.deepEqual(
      Object.keys(env).filter((name) => !known.has(name) && !name.startsWith("LC_")),
      [],
    );
    assert.deepEqual(
      [env["BYTEBOT_TEST_LISTED"], env["GIVEN"], env["LC_TEST"], env["PATH"]],
      ["yes", "by the app", "C", process.env["PATH"]],
    );
  });

  test('"node" is the Node that runs us', async (t) => {
    const { ears } = await start(t, program(say('{event_type:"node",path:process.execPath}')));
    assert.equal((await ears.next("node"))["path"], process.execPath);
  });
});

suite("a child that cannot be started", () => {
  const cases: [what: string, options: Partial<ChildOptions>, message: RegExp][] = [
    [
      "a missing program",
      { command: ["no-such-program-here"] },
      /no program "no-such-program-here"; install it, or correct "entry.command"/,
    ],
    [
      "a file that may not be executed",
      { command: ["./echo.ts"] },
      /"\.\/echo\.ts" may not be executed; run chmod \+x/,
    ],
    ["an empty command", { command: [] }, /its command is empty/],
    ["a missing folder", { command: ["node"], cwd: "/no/such/folder" }, /there is no folder \/no\/such\/folder/],
    ["a NUL in an argument", { command: ["node", "a\0b"] }, /null bytes/],
  ];
  for (const [what, options, message] of cases) {
    test(`${what} is "unavailable", with the reason and the fix, and leaves no process`, async (t) => {
      await assert.rejects(start(t, [], options), (error) => {
        assert.ok(error instanceof BytebotError);
        assert.equal(error.code, "unavailable");
        assert.match(error.message, message);
        assert.match(error.message, /^cannot start the satellite: /);
        return true;
      });
      await becomes("no process is left", () => childrenOf(process.pid).length === 0);
    });
  }

  test("one that was called off is not started", async () => {
    const options = { name: "x", command: ["node"], cwd: fixtures, env: {}, allowEnv: [], onStderr() {} };
    await assert.rejects(child(options)(new Ears(), AbortSignal.abort()), { code: "cancelled" });
    assert.deepEqual(childrenOf(process.pid), []);
  });
});

suite("a child that ends", { concurrency: 3 }, () => {
  test("the reason names its exit code and its last words", async (t) => {
    const { ears, stderr } = await start(t, ["sh", "-c", "for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 3"]);
    assert.equal(
      await ears.end(),
      "it exited with code 3; the last it said on stderr: line 2 | line 3 | line 4 | line 5 | line 6",
    );
    assert.equal(stderr.length, 6);
  });

  test("the reason names the signal that ended it, and what it had said before arrives", async (t) => {
    const { ears } = await start(t, ["sh", "-c", `echo '{"event_type":"last"}'; kill -KILL $$`]);
    assert.equal(await ears.end(), "it was ended by SIGKILL");
    assert.deepEqual(ears.events, [{ event_type: "last" }]);
  });

  test("one that closes its stdin is told apart and ended; what it goes on saying is not heard any more", async (t) => {
    const code = `require("fs").closeSync(0); ${say('{event_type:"deaf",pid:process.pid}')}; setInterval(() => ${say('{event_type:"tick"}')}, 1)`;
    const { link, ears } = await start(t, program(code));
    const pid = Number((await ears.next("deaf"))["pid"]);
    link.send({ event_type: "hello" });
    assert.match(await ears.end(), /it does not take input any more: write EPIPE, while it went on running/);
    const heard = ears.events.length;
    await link.close("again");
    assert.equal(ears.events.length, heard);
    assert.ok(!isRunning(pid));
  });

  test("one that closes its stdout is told apart and ended", async (t) => {
    const { link, ears } = await start(t, [
      "sh",
      "-c",
      `echo '{"event_type":"mute","pid":'$$'}'; exec >&-; exec sleep 1000`,
    ]);
    const pid = Number((await ears.next("mute"))["pid"]);
    assert.equal(await ears.end(), "it closed its output, while it went on running");
    await link.close("again");
    assert.ok(!isRunning(pid));
  });

  test("prints of a satellite on the SDK's link go to stderr, its events to stdout (FRM-11)", async (t) => {
    const { ears, stderr } = await start(t, ["node", "echo-child.ts"], { graceMs: 2000 });
    await ears.next("hello");
    assert.deepEqual(ears.faults, []);
    await becomes("both prints arrive", () => stderr.length === 2);
    assert.deepEqual(stderr, ["a print of the satellite", "another, past the console"]);
  });
});

suite("floods", () => {
  const FLOOD = 200_000_000;
  const flood = `head -c ${FLOOD} /dev/zero`;

  async function growth(during: () => Promise<unknown>): Promise<number> {
    const before = process.memoryUsage.rss();
    await during();
    return process.memoryUsage.rss() - before;
  }

  test("200 MB on stderr without a newline are counted, not kept; events go on", async (t) => {
    const grown = await growth(async () => {
      const { ears, stderr } = await start(t, [
        "sh",
        "-c",
        `${flood} >&2; echo >&2; echo next >&2; echo '{"event_type":"after"}'; cat`,
      ]);
      await ears.next("after");
      await becomes("the line after it arrives", () => stderr.length === 2);
      assert.deepEqual(stderr, [`(a line of ${FLOOD} bytes, left out)`, "next"]);
    });
    assert.ok(grown < FLOOD / 2, `memory grew by ${grown} bytes`);
  });

  test("200 MB on stdout without a newline are refused by name and size; events go on", async (t) => {
    const grown = await growth(async () => {
      const { link, ears } = await start(t, ["sh", "-c", `${flood}; echo; echo '{"event_type":"after"}'; cat`]);
      link.limit(standard);
      await ears.next("after");
      assert.deepEqual(
        ears.faults.map(({ code }) => code),
        ["too_large"],
      );
      assert.match(ears.faults[0]!.message, /a line of 200000000 bytes from the satellite; the limit is 1048576/);
    });
    assert.ok(grown < FLOOD / 2, `memory grew by ${grown} bytes`);
  });
});

suite("close leaves nothing", { concurrency: 3 }, () => {
  for (const [how, command] of Object.entries(stubborn)) {
    test(`of a satellite that ignores TERM, ${how} (CON-8)`, async (t) => {
      const { link, ears } = await start(t, command);
      const pid = Number((await ears.next("hello"))["pid"]);
      assert.ok(isRunning(pid));
      await link.close("we are done");
      assert.ok(!isRunning(pid));
      assert.deepEqual(ears.closings, ["we are done"]);
    });

    test(`of a satellite ${how}, when what we started is killed`, async (t) => {
      const tag = randomUUID();
      const { link, ears } = await start(t, command, { env: { BYTEBOT_TEST: tag } });
      const pid = Number((await ears.next("hello"))["pid"]);
      const leader = childrenOf(process.pid).find((each) => carrying(tag).includes(each))!;
      process.kill(leader, "SIGKILL");
      assert.match(await ears.end(), /^it was ended by SIGKILL/);
      await link.close("again");
      assert.ok(!isRunning(pid));
    });
  }

  test("of a satellite that is stopped, its input full", async (t) => {
    const { link, ears } = await start(t, ["node", "echo-child.ts"]);
    const pid = Number((await ears.next("hello"))["pid"]);
    process.kill(pid, "SIGSTOP");
    link.send({ event_type: "fill", text: "x".repeat(2_000_000) });
    const drained = link.drained();
    await link.close("we are done");
    await drained;
    assert.ok(!isRunning(pid));
  });

  test("while a satellite with time to end in peace says its last", async (t) => {
    const code = `process.stdin.on("data", () => {}).on("end", () => { ${say('{event_type:"last"}')} }); ${say('{event_type:"hello"}')}`;
    const { link, ears } = await start(t, program(code), { graceMs: 5000 });
    await ears.next("hello");
    await link.close("we are done");
    assert.deepEqual(
      ears.events.map(({ event_type }) => event_type),
      ["hello", "last"],
    );
  });

  test("and ends no other child", async (t) => {
    const [one, other] = await Promise.all([start(t, ["node", "stubborn.mjs"]), start(t, ["node", "stubborn.mjs"])]);
    const pid = Number((await other.ears.next("hello"))["pid"]);
    await one.link.close("we are done");
    assert.ok(isRunning(pid));
    assert.deepEqual(other.ears.closings, []);
    await other.link.close("we are done");
  });
});
