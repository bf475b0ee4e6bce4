import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openSqliteLog, withLargeEvents, type EventLog, type SqliteBlobs } from "../../src/log/index.ts";
import { Owner } from "../log/sqlite/owner.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;
const large = "large ".repeat(50_000);
const bytes = Buffer.from("a picture ".repeat(40_000));
const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;

const said = (scope: string, text: string) => ({ event_type: "user_event", type: "message", scope, text });
const snapshot = (scope: string) => ({
  event_type: "bb_snapshot",
  scope,
  state: { messages: [], open: [], more: false },
});

/** A log with two cells, one of them trimmed, a large event, a child conversation, something under way, and a blob. */
async function filled(t: TestContext): Promise<{ cwd: string; db: string; log: EventLog; blobs: SqliteBlobs }> {
  const cwd = await folder(t);
  const db = join(cwd, "bytebot.db");
  const opened = await openSqliteLog({ file: db });
  const log = withLargeEvents(opened.log);
  for (let pos = 0; pos < 6; pos++)
    await log.append(
      "u_1",
      pos,
      pos % 2 === 1
        ? { id: `s${pos}`, events: [snapshot("u_1")], base: true }
        : { id: `a${pos}`, events: [said("u_1", `text ${pos}`), said("u_1/~child", `below ${pos}`)] },
    );
  await log.trim("u_1", 2);
  await log.append("u_1", 6, { id: "last", events: [said("u_1", large)], open: true });
  await log.append("v/x", 0, { id: "v", events: [said("v/x", "evil \u001b[2J\u202e text\nnext line")] });
  const writer = opened.blobs.create("v/x");
  await writer.write(bytes.subarray(0, 150_000));
  await writer.write(bytes.subarray(150_000));
  await writer.commit(ref, "image/png");
  return { cwd, db, log, blobs: opened.blobs };
}

async function done(t: TestContext, cwd: string, ...args: string[]) {
  return new Cli(t, ["log", ...args], { cwd }).done;
}

function parsed(out: string): Record<string, unknown>[] {
  return out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test(
  "log list, show, export and verify read the log while its Hub runs, and write nothing of others to the terminal",
  { timeout },
  async (t) => {
    const { cwd, log } = await filled(t);
    const list = await done(t, cwd, "list");
    assert.equal(list.err, "");
    assert.match(list.out, /^ +8 +6 +20\S+Z +u_1 {2}\(something is under way\)$/m);
    assert.match(list.out, /^ +1 +1 +20\S+Z +v\/x$/m);
    assert.match(list.out, /^2 cells$/m);
    const [cell, ...others] = parsed((await done(t, cwd, "list", "v", "--json")).out);
    assert.deepEqual([cell?.["cell"], cell?.["events"], cell?.["open"], others.length], ["v/x", 1, false, 0]);

    const show = await done(t, cwd, "show", "v/x");
    assert.match(show.out, /user_event +evil \\u001b\[2J\\u202e text⏎next line\n$/);
    const child = parsed((await done(t, cwd, "show", "u_1/~child", "--last", "1", "--json")).out);
    assert.deepEqual([child.length, child[0]?.["text"]], [1, "below 4"]);
    assert.equal((await done(t, cwd, "export")).out.includes("\u202e"), false);

    const verify = await done(t, cwd, "verify");
    assert.deepEqual([verify.code, verify.err], [0, ""]);
    assert.match(
      verify.out,
      new RegExp(`^2 cells, 7 entries, 9 events, 2 blobs\nlast owner: process ${process.pid} on .*FULL\nnothing`),
    );
    const place = await log.append("v/x", 1, { id: "after", events: [said("v/x", "goes on")] });
    assert.equal(place.pos, 2);
    await log.close();
  },
);

test(
  "what log export wrote, log import brings into another log: the same events, at the same places, whole, with blobs",
  { timeout },
  async (t) => {
    const { cwd, log } = await filled(t);
    await log.close();
    const out = join(cwd, "all.jsonl");
    const exported = await done(t, cwd, "export", "--blobs", "--out", out);
    assert.deepEqual([exported.code, exported.err, exported.out], [0, "", ""]);
    const lines = parsed(readFileSync(out, "utf8"));
    assert.deepEqual([lines[0]?.["seq"], lines[0]?.["event_type"]], [512, "bb_snapshot"], "what is below was trimmed");
    assert.ok(
      lines.some(({ text }) => text === large),
      "whole",
    );
    assert.match((await done(t, cwd, "export", "--out", out)).err, /all\.jsonl is there already/);

    const imported = await done(t, cwd, "import", out, "--db", "other.db");
    assert.deepEqual([imported.code, imported.err], [0, ""]);
    assert.match(imported.out, /^7 entries with 9 events, and 1 blobs$/m);
    const again = await done(t, cwd, "export", "--blobs", "--db", "other.db");
    const plain = (line: Record<string, unknown>) => ({ ...line, cursor: undefined });
    assert.deepEqual(parsed(again.out).map(plain), lines.map(plain));
    assert.equal((await done(t, cwd, "verify", "--db", "other.db")).code, 0);
    const twice = await done(t, cwd, "import", out, "--db", "other.db");
    assert.deepEqual([twice.code, /line 2: the log has a cell "u_1" already/.test(twice.err)], [1, true], twice.err);
    const bad = join(cwd, "bad.jsonl");
    writeFileSync(
      bad,
      `${JSON.stringify({ ...lines[0], _entry: undefined })}\n{"event_type":"user_event","scope":".."}\n`,
    );
    assert.match((await done(t, cwd, "import", bad, "--db", "third.db")).err, /bad\.jsonl, line 2: .* has a scope/);
  },
);

test(
  "log import takes an export from a pipe or from stdin as it does from a file, and leaves nothing beside the log",
  { timeout },
  async (t) => {
    const { cwd, log } = await filled(t);
    await log.close();
    const out = join(cwd, "all.jsonl");
    await done(t, cwd, "export", "--blobs", "--out", out);
    const lines = readFileSync(out, "utf8");
    const pipe = join(cwd, "pipe");
    execFileSync("mkfifo", [pipe]);
    const piped = new Cli(t, ["log", "import", pipe, "--db", "piped.db"], { cwd });
    await writeFile(pipe, lines);
    const stdin = new Cli(t, ["log", "import", "-", "--db", "stdin.db"], { cwd, input: lines });
    for (const [db, run] of Object.entries({ "piped.db": piped, "stdin.db": stdin })) {
      const { code, err, out: said } = await run.done;
      assert.deepEqual([code, err], [0, ""]);
      assert.match(said, /^7 entries with 9 events, and 1 blobs$/m);
      const again = parsed((await done(t, cwd, "export", "--blobs", "--db", db)).out);
      const plain = (line: Record<string, unknown>) => ({ ...line, cursor: undefined });
      assert.deepEqual(again.map(plain), parsed(lines).map(plain));
    }
    const half = lines.slice(0, lines.lastIndexOf("\n", lines.length - 2) + 30);
    const cut = await new Cli(t, ["log", "import", "-", "--db", "cut.db"], { cwd, input: half }).done;
    assert.deepEqual([cut.code, /^bytebot: stdin, line \d+: .*Nothing was imported/.test(cut.err)], [1, true], cut.err);
    assert.match((await done(t, cwd, "import", cwd, "--db", "folder.db")).err, /cannot be read: EISDIR/);
    assert.deepEqual(
      readdirSync(cwd).filter((name) => name.endsWith(".import")),
      [],
    );
  },
);

test(
  "log prune gives up what is old, below a snapshot only, and keeps at least what it was told",
  { timeout },
  async (t) => {
    const { cwd, log } = await filled(t);
    const busy = await done(t, cwd, "prune", "*", "--keep", "1");
    assert.equal(busy.code, 1);
    assert.match(busy.err, new RegExp(`in use by process ${process.pid} on .* since .*: a log has one Hub`));
    await log.close();
    assert.match((await done(t, cwd, "prune", "*")).err, /needs --keep N, --older-than DAYS, or both/);
    const dry = await done(t, cwd, "prune", "*", "--keep", "3", "--dry-run");
    assert.match(dry.out, /^u_1: 3 events, 5 stay\n3 events would be pruned$/m);
    assert.match((await done(t, cwd, "prune", "*", "--keep", "0", "--older-than", "1")).out, /^0 events pruned$/m);
    assert.match((await done(t, cwd, "prune", "v", "--keep", "0")).out, /^0 events pruned$/m, "it has no snapshot");
    assert.match((await done(t, cwd, "prune", "u_1", "--keep", "3")).out, /^u_1: 3 events, 5 stay\n3 events pruned$/m);
    assert.match(
      (await done(t, cwd, "prune", "u_1", "--keep", "0", "--older-than", "0")).out,
      /^u_1: 3 events, 2 stay$/m,
    );
    const lines = parsed((await done(t, cwd, "export")).out);
    assert.deepEqual(
      lines.map(({ event_type: type }) => type),
      ["bb_snapshot", "user_event", "user_event"],
    );
    assert.equal((await done(t, cwd, "verify")).code, 0);
  },
);

test("log says what is wrong with a log and where, and what is wrong with a command line", { timeout }, async (t) => {
  const { cwd, db, log } = await filled(t);
  await log.close();
  const data = readFileSync(db);
  data.write("evi1", data.indexOf("evil "));
  writeFileSync(db, data);
  const verify = await done(t, cwd, "verify", "--json");
  assert.equal(verify.code, 1);
  assert.deepEqual(parsed(verify.out)[0], {
    where: 'cell "v/x", entry 1',
    what: "its checksum does not match what it says",
  });
  assert.match((await done(t, cwd, "show", "v/x")).err, /the entry 1 of cell "v\/x" in .* is damaged/);
  const wrong: [code: number, says: RegExp, ...args: string[]][] = [
    [2, /a command is needed: list, show/],
    [2, /no command "constructor"/, "constructor"],
    [2, /show needs a scope/, "show"],
    [2, /"\.\." is no scope/, "show", ".."],
    [1, /the log has no cell "nobody"/, "show", "nobody"],
    [1, /there is no log .*none\.db: name one with --db/, "list", "--db", "none.db"],
    [2, /--last "0" is no number from 1/, "show", "u_1", "--last", "0"],
    [2, /import needs the file/, "import"],
    [1, /none\.jsonl cannot be read/, "import", "none.jsonl", "--db", "x.db"],
  ];
  for (const [code, says, ...args] of wrong) {
    const end = await done(t, cwd, ...args);
    assert.match(end.err, says);
    assert.equal(end.code, code, end.err);
  }
  assert.match((await done(t, cwd, "--help")).out, /^usage: bytebot log/);
});

test("after a Hub was killed, its log is read before another one has opened it", { timeout }, async (t) => {
  const cwd = await folder(t);
  const owner = await new Owner(join(cwd, "bytebot.db")).opened();
  assert.equal(await owner.append("u", 0, "a"), "a 1");
  await owner.kill();
  assert.match((await done(t, cwd, "list")).out, /^ +1 +1 .* u\n1 cell$/m);
});

test(
  "log rename, fork and delete decide about the conversations of an app that is stopped, and list shows what came of it (CVS-3, CVS-4, CVS-5)",
  { timeout },
  async (t) => {
    const cwd = await folder(t);
    const db = join(cwd, "bytebot.db");
    const { log } = await openSqliteLog({ file: db });
    const end = {
      event_type: "infer_chunk",
      kind: "loop_done",
      scope: "u_1",
      loop_id: "l",
      round: 0,
      stop_reason: "end_turn",
      ts: Date.now(),
    };
    await log.append("u_1", 0, { id: "a", events: [said("u_1", "canary of a text"), end], about: { title: "canary" } });
    const busy = await done(t, cwd, "rename", "u_1", "other");
    assert.match(busy.err, /in use by process/);
    await log.close();
    assert.match((await done(t, cwd, "rename", "u_1")).err, /rename needs SCOPE TITLE: TITLE is missing/);
    assert.match((await done(t, cwd, "rename", "u_1", "a\u202eb")).err, /a title is 1 to 200 characters/);
    assert.match((await done(t, cwd, "rename", "u_2", "x")).err, /there is no conversation "u_2"/);
    assert.equal((await done(t, cwd, "rename", "u_1", "Brno 🚋")).out, "u_1: Brno 🚋\n");
    assert.match(
      (await done(t, cwd, "fork", "u_1", "256", "u_1/b")).err,
      /the seq 256 of "u_1" is not the end of a turn/,
    );
    assert.equal((await done(t, cwd, "fork", "u_1", "257", "u_1/b")).out, "u_1/b begins with u_1 up to 257\n");
    const out = join(cwd, "all.jsonl");
    assert.equal((await done(t, cwd, "export", "--out", out)).err, "");
    assert.equal((await done(t, cwd, "delete", "u_1")).out, "u_1 is deleted\n");
    assert.equal((await done(t, cwd, "delete", "u_1/b")).out, "u_1/b is deleted\n");
    assert.match((await done(t, cwd, "list")).out, /u_1 {2}\(deleted\)\n.*u_1\/b {2}\(deleted\)\n2 cells/);
    assert.ok(!readFileSync(db).includes("canary"));
    // What was exported before is another log's.
    assert.equal((await done(t, cwd, "import", out, "--db", "other.db")).err, "");
    const list = (await done(t, cwd, "list", "--db", "other.db")).out;
    assert.match(list, /u_1 {2}Brno 🚋\n.*u_1\/b {2}canary of a text\n/);
  },
);

test(
  "an import of another version, or with a line that is wrong, is refused with the reason, and nothing of it is there",
  { timeout },
  async (t) => {
    const { cwd, log } = await filled(t);
    await log.close();
    const out = join(cwd, "all.jsonl");
    await done(t, cwd, "export", "--blobs", "--out", out);
    const lines = readFileSync(out, "utf8").split("\n").filter(Boolean);
    for (const [name, spoil, why] of [
      ["later", (line: string) => line.replace('"version":1', '"version":2'), /an export of version 2, .* knows 1/],
      ["half", (line: string) => line.slice(0, 40), /not JSON|JSON/],
      [
        "title",
        (line: string) => line.replace(/("_entry":\{)/, '$1"about":{"title":"\\u0007"},'),
        /says nothing of it/,
      ],
    ] as const) {
      const file = join(cwd, `${name}.jsonl`);
      const at = name === "later" ? lines.findIndex((line) => line.includes("v/x")) : lines.length - 4;
      const spoilt = lines.findIndex((line, index) => index >= at && spoil(line) !== line);
      writeFileSync(file, lines.map((line, index) => (index === spoilt ? spoil(line) : line)).join("\n"));
      const refused = await done(t, cwd, "import", file, "--db", `${name}.db`);
      assert.equal(refused.code, 1, name);
      assert.match(refused.err, why, name);
      assert.match(refused.err, /Nothing was imported/, name);
      assert.match((await done(t, cwd, "list", "--db", `${name}.db`)).out, /^0 cells$/m, name);
    }
  },
);
