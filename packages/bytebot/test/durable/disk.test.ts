import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openSqliteLog } from "../../src/log/index.ts";
import type { BytebotError } from "../../src/wire/index.ts";
import { appOf } from "../cli/apps.ts";
import { folder } from "../cli/cli.ts";
import { Person, Script, Tools } from "./crew.ts";
import { Site } from "./site.ts";

const timeout = 120_000;
const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const NOBODY = 65_534;

test(
  "where the disk takes no more, a person is told so and a turn that ran is ended; with room again all goes on, without a restart (DUR-1, LOG-4, hard case 34)",
  { timeout },
  async (t) => {
    const [site, person, script, tools] = [new Site(t), new Person(), new Script(), new Tools()];
    await site.up();
    site.dial("tools", tools.main);
    site.dial("infer", script.main);
    site.dial("ui", person.main);
    await script.until(() => script.synced === 1, "the infer");
    await person.say("u", "one.", "m_1");
    await person.sawEnds("u");
    const { promise, resolve } = Promise.withResolvers<void>();
    script.pause = () => promise;
    await person.say("v", "hello.", "m_2");
    await person.until(() => person.text("v") === "all ", "the first word");

    const limit = (size: number | string): void =>
      void execFileSync("prlimit", ["--pid", String(site.hub.child.pid), `--fsize=${size}:unlimited`]);
    limit(Math.max(statSync(site.file).size, statSync(`${site.file}-wal`).size));
    const refused = person.satellite!.sendUserEvent("u", "two.", { id: "m_3" });
    resolve();
    await assert.rejects(refused, (error: BytebotError) => {
      assert.deepEqual([error.code, error.retryable], ["unavailable", true]);
      assert.match(error.message, /the log .* (?:the disk failed|no room left)/);
      return true;
    });
    const live = () => person.seen.filter(({ kind, scope, seq }) => kind === "loop_done" && scope === "v" && !seq);
    await person.until(() => live().length === 1, "the end of the turn that ran");
    assert.deepEqual((live()[0]!["error"] as { code: string }).code, "unavailable");
    assert.ok(person.satellite, "the connection is still there");

    limit("unlimited");
    await person.say("u", "two.", "m_3");
    await person.say("v", "again.", "m_4");
    await person.until(() => script.count("u", "two.") + script.count("v", "again.") === 2, "both");
    await person.sawEnds("u", 2);
    await person.sawEnds("v", 2);
    await site.down();
    const logged = await site.check();
    assert.deepEqual(
      logged.filter(({ event_type }) => event_type === "user_event").map(({ id }) => id),
      ["m_1", "m_2", "m_3", "m_4"],
    );
    assert.deepEqual(
      [script.count("u", "one."), script.count("v", "hello.")],
      [1, 1],
      "the model is still told what was said before",
    );
    assert.equal(site.lives, 1);
  },
);

test(
  "a log that may not be written is refused at the start in one sentence, with exit code 1",
  { timeout },
  async (t) => {
    const cwd = await folder(t, appOf("infer"));
    const shut = join(cwd, "shut");
    mkdirSync(shut);
    await (await openSqliteLog({ file: join(shut, "log.db") })).log.close();
    chmodSync(join(shut, "log.db"), 0o444);
    chmodSync(shut, 0o555);
    chmodSync(cwd, 0o755);
    const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const child = spawn(process.execPath, [MAIN, "run", "--db", join(shut, "log.db")], { cwd, stdio: "pipe", ...user });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    const [code] = (await once(child, "close")) as [number];
    chmodSync(shut, 0o755);
    assert.equal(code, 1);
    assert.match(err, /^bytebot: the log \S+\/log\.db: [^\n]*(?:cannot be|right)[^\n]*\n$/);
  },
);
