import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ByteBot, type Event } from "../../src/index.ts";
import { main as context } from "../../src/cli/demo/context.ts";
import { main as infer } from "../../src/cli/demo/infer.ts";
import { main as toolsource } from "../../src/cli/demo/toolsource.ts";
import { main as ui } from "../../src/cli/demo/ui.ts";
import { findInOrder, parseLines, type Line } from "../matcher.ts";
import { Cli, folder, leftOf } from "./cli.ts";

const golden = parseLines(
  readFileSync(join(import.meta.dirname, "../../../../spec/transcripts/one-turn.jsonl"), "utf8"),
);
const asked = (lines: readonly Line[]) => lines.find(({ event_type }) => event_type === "user_event");
const idsIn = (lines: readonly Line[]) =>
  new Set(lines.flatMap((line) => [line["id"], line["loop_id"], line["call_id"]]).filter((id) => id !== undefined));

test("the seed's turn comes out over stdio, and each run has ids of its own", { timeout: 60_000 }, async (t) => {
  const TMPDIR = await folder(t);
  const [one, two] = [
    new Cli(t, ["demo", "--transcript"], { env: { TMPDIR } }),
    new Cli(t, ["demo", "--transcript"], { env: { TMPDIR } }),
  ];
  const ends = [await one.done, await two.done];
  assert.deepEqual(
    ends.map(({ code, err }) => [code, err]),
    [
      [0, ""],
      [0, ""],
    ],
  );
  assert.ok(findInOrder(golden, one.lines()), one.out);
  assert.equal(golden.length, 12);
  assert.deepEqual([asked(one.lines())?.["text"], asked(one.lines())?.["scope"]], ["ship it", "u_7f3a"]);
  const [first, second] = [idsIn(one.lines()), idsIn(two.lines())];
  assert.ok(first.size > 5);
  assert.deepEqual(
    [...first].filter((id) => second.has(id)),
    [],
  );
  assert.deepEqual(leftOf(TMPDIR), []);
});

test("the text, the tool and the scope go through the transcript", { timeout: 60_000 }, async (t) => {
  const text = "zwei Zeilen\nund \u2028 ein 🥛";
  const cli = new Cli(t, ["demo", "--transcript", "--text", text, "--tool", "stow_away", "--scope", "team/anna"]);
  const { code, out } = await cli.done;
  assert.equal(code, 0);
  const renamed = golden.map((line) => (line["name"] === undefined ? line : { ...line, name: "stow_away" }));
  assert.ok(findInOrder(renamed, cli.lines()), out);
  assert.deepEqual([asked(cli.lines())?.["text"], asked(cli.lines())?.["scope"]], [text, "team/anna"]);
  const call = cli.lines().find(({ event_type }) => event_type === "bb_tool_call_request");
  assert.deepEqual(call?.["input"], { path: "note-1.txt", content: text });
  const scopes = new Set(cli.lines().map(({ scope }) => scope));
  assert.deepEqual(scopes, new Set([undefined, "team/anna"]));
});

test("the seed's turn comes out in-proc, of the same satellites", { timeout: 30_000 }, async (t) => {
  const hub = new ByteBot({ context, ui: { main: ui, kind: "ui", opts: { text: "ship it", scope: "u_7f3a" } } });
  t.after(() => hub.stop());
  hub.attachInfer({ main: infer, kind: "infer" }, { primary: true });
  hub.attach({ main: toolsource, kind: "toolsource" });
  const trace: Event[] = [];
  const reading = (async () => {
    for await (const event of hub.events()) trace.push(event);
  })();
  await hub.start();
  const { error } = await hub.ui!.ended;
  assert.equal(error, undefined);
  await hub.stop();
  await reading;
  assert.ok(findInOrder(golden, trace), trace.map((event) => JSON.stringify(event)).join("\n"));
});

test(
  "a reader that leaves early ends the transcript quietly, and nothing is left running",
  { timeout: 60_000 },
  async (t) => {
    const TMPDIR = await folder(t);
    const cli = new Cli(t, ["demo", "--transcript"], { env: { TMPDIR } });
    await cli.until("the first line", ({ out }) => out.includes("\n"));
    cli.stopReading();
    assert.equal((await cli.done).err, "");
    assert.deepEqual(leftOf(TMPDIR), []);
  },
);
