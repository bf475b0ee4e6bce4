import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { Cli, folder, leftOf } from "./cli.ts";

const timeout = 60_000;

test("--version is that of the package", { timeout }, async (t) => {
  assert.deepEqual(((end) => [end.code, end.out, end.err])(await new Cli(t, ["--version"]).done), [
    0,
    `${manifest.version}\n`,
    "",
  ]);
});

test("--help is there for bytebot and for each command, on stdout", { timeout }, async (t) => {
  const all = await new Cli(t, ["--help"]).done;
  assert.equal(all.code, 0);
  const names = [...all.out.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!);
  assert.deepEqual(names, ["run", "chat", "tail", "check", "log", "token", "replay", "hub", "demo"]);
  const ends = await Promise.all(names.map((name) => new Cli(t, [name, "--help"]).done));
  for (const [index, { code, out, err }] of ends.entries()) {
    assert.deepEqual([code, err], [0, ""]);
    assert.ok(out.startsWith(`usage: bytebot ${names[index]} `), out);
  }
});

const misused: [args: string[], says: RegExp][] = [
  [[], /a command is needed: run, chat, tail, check, log, token, replay, hub, demo; see bytebot --help/],
  [["walk"], /there is no command "walk"/],
  [["constructor"], /there is no command "constructor"/],
  [["--loud"], /there is no option "--loud"/],
  [["run", "--loud"], /Unknown option '--loud'; see bytebot run --help/],
  [["run", "a.json", "b.json"], /"b\.json" is one word too many; see bytebot run --help/],
  [["tail", "--scope", "a b"], /--scope "a b" is no scope/],
  [["tail", "--pid", "x"], /--pid x is no process id/],
  [["run", "--listen", "eighty"], /--listen "eighty" is no \[host:\]port/],
  [["run", "--listen", "127.0.0.1:70000"], /is no \[host:\]port/],
  [["tail", "--pid", "1", "--socket", "s"], /--pid and --socket name two apps/],
  [["tail", "--scope"], /'--scope <value>' argument missing/],
  [
    ["log"],
    /a command is needed: list, show, export, import, prune, rename, fork, delete, verify; see bytebot log --help/,
  ],
  [["check"], /a component is needed, as in bytebot check \.\/tools; see bytebot check --help/],
  [["check", "--", "python3", "ui.py"], /a program needs its --kind/],
  [["check", "--kind", "browser", "--", "python3"], /--kind browser is none of ui, context/],
  [["check", "./x", "--rule", "XYZ-1"], /no check is of the rule "XYZ-1"; there are CHK-1, /],
  [["check", "./x", "--opts", "[1]"], /--opts needs a JSON object/],
  [["check", "./x", "--call", "{}"], /--call needs a name and its arguments/],
  [["check", "./x", "--timeout", "soon"], /--timeout "soon" is no number of seconds/],
  [["replay"], /a recording is needed, as in bytebot replay log\.jsonl; see bytebot replay --help/],
  [["replay", "/no/such.jsonl"], /"\/no\/such\.jsonl" cannot be replayed: it cannot be read \(ENOENT\)/],
  [["replay", "/"], /"\/" cannot be replayed: it cannot be read \(EISDIR\)/],
  [["replay", "log.jsonl", "--scope", "a b"], /--scope "a b" is no scope/],
  [["hub"], /the owner's link is needed: --stdio; see bytebot hub --help/],
  [["demo", "--text", "hi"], /--text and --tool go with --transcript/],
  [["demo", "--transcript", "--once", "hi"], /exclude each other/],
  [["demo", "--transcript", "--tool", ""], /--tool needs a name/],
  [["chat", "--scope", "../x"], /--scope "\.\.\/x" is no scope/],
];
for (const [args, says] of misused) {
  test(`bytebot ${args.join(" ")}: exit code 2, and one sentence on stderr`, { timeout }, async (t) => {
    const { code, out, err } = await new Cli(t, args).done;
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /^bytebot: [^\n]+\n$/);
    assert.match(err, says);
  });
}

test("BYTEBOT_DEBUG=1 shows where an error was thrown", { timeout }, async (t) => {
  const { code, err } = await new Cli(t, ["run", "none.json"], { env: { BYTEBOT_DEBUG: "1" } }).done;
  assert.equal(code, 1);
  assert.match(err, /^bytebot: there is no .*none\.json: name a .*\n[^]*\n +at /);
});

test("the demo says on the screen that a script answers, streams, calls its tool and ends", { timeout }, async (t) => {
  const cwd = await folder(t);
  const { code, out, err } = await new Cli(t, ["demo", "--once", "hello there"], { cwd, env: { TMPDIR: cwd } }).done;
  assert.equal(code, 0, err);
  assert.match(err, /SCRIPTED DEMO: no model answers here/);
  assert.match(err, /create-user-file\(.*hello there.*\) → ok/);
  assert.match(out, /Done\. The tool answered: created note-1\.txt, 11 characters/);
  assert.deepEqual(leftOf(cwd), []);
});

test(
  "without a terminal each line of stdin is a turn of the demo, and --json prints events",
  { timeout },
  async (t) => {
    const cli = new Cli(t, ["demo", "--json", "--scope", "me"], { input: "one\ntwo\n" });
    const { code, err } = await cli.done;
    assert.equal(code, 0, err);
    const inputs = cli.lines().filter(({ event_type }) => event_type === "user_event");
    assert.deepEqual(
      inputs.map(({ text, scope }) => [text, scope]),
      [
        ["one", "me"],
        ["two", "me"],
      ],
    );
    const calls = cli.lines().filter(({ event_type }) => event_type === "tool_call");
    assert.deepEqual(
      calls.map(({ input }) => (input as { path: string }).path),
      ["note-1.txt", "note-2.txt"],
    );
  },
);
