import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { Cli, folder } from "../cli/cli.ts";
import { inferResult, message, textChunks } from "../hub/world.ts";
import { App, everything, logOf, replayed, toFile } from "./recorded.ts";

const timeout = 60_000;
const log = await everything();
const TRANSCRIPTS = join(import.meta.dirname, "../../../../spec/transcripts");

test(
  "two conversations with all that happens in one come out the same, through the real command",
  { timeout },
  async (t) => {
    const cwd = await folder(t, { "log.jsonl": toFile(log) });
    const { code, out, err } = await new Cli(t, ["replay", "log.jsonl"], { cwd }).done;
    assert.deepEqual([code, err], [0, ""], out);
    const [a, b] = ["u_7f3a", "u_9"].map((scope) => log.filter((event) => event["scope"] === scope).length);
    assert.equal(out, `same  u_7f3a: ${a} events\nsame  u_9: ${b} events\n\n2 the same, 0 different\n`);
  },
);

test("it was all there: parallel calls, a steer, a question, approvals, a timeout, retries, an interrupt", () => {
  const has = (fields: Record<string, unknown>): number =>
    log.filter((event) => Object.entries(fields).every(([field, value]) => event[field] === value)).length;
  assert.equal(has({ event_type: "bb_infer_request", attempt: 2 }), 1);
  assert.equal(has({ event_type: "input_resolved", outcome: "accepted" }), 2);
  assert.equal(has({ event_type: "input_resolved", outcome: "declined" }), 1);
  assert.deepEqual(
    ["ok", "error", "denied", "timeout"].map((status) => has({ event_type: "bb_tool_call_result", status })),
    [4, 2, 1, 1],
  );
  assert.equal(has({ mode: "steer" }), 1);
  assert.equal(has({ event_type: "input_state", fate: "returned" }), 1);
  assert.equal(has({ stop_reason: "interrupted" }), 1);
});

/** Which line, what is changed in it, and the field that is then reported. */
const changes: [name: string, of: Partial<Event>, change: (event: Event) => Event, path: string][] = [
  ["a call's arguments", { event_type: "bb_tool_call_request" }, (e) => ({ ...e, input: { path: "z" } }), "input.path"],
  ["a call's name", { event_type: "bb_tool_call_request" }, (e) => ({ ...e, name: "peek" }), "name"],
  ["a stop reason", { kind: "loop_done" }, (e) => ({ ...e, stop_reason: "max_tokens" }), "stop_reason"],
  ["a round", { kind: "loop_done" }, (e) => ({ ...e, round: 7 }), "round"],
  ["a status", { status: "ok" }, (e) => ({ ...e, status: "error" }), "status"],
  [
    "an error",
    { stop_reason: "interrupted" },
    (e) => ({ ...e, error: { code: "internal", message: "x", retryable: false } }),
    "error",
  ],
  [
    "a result's own error",
    { status: "timeout" },
    (e) => ({ ...e, error: { ...(e["error"] as object), retryable: true } }),
    "error.retryable",
  ],
  [
    "what the Hub said",
    { status: "denied" },
    (e) => ({ ...e, content: [{ type: "text", text: "It may not." }] }),
    "content.0.text",
  ],
  ["a fate", { event_type: "input_state" }, (e) => ({ ...e, fate: "queued" }), "fate"],
  [
    "an id that means something else",
    { event_type: "bb_tool_call_result" },
    (e) => ({ ...e, loop_id: "l_other" }),
    "loop_id",
  ],
];
for (const [name, of, change, path] of changes) {
  test(`${name}, changed in one line, is the difference that is shown, with that line`, { timeout }, async () => {
    const wanted = Object.entries({ scope: "u_7f3a", ...of });
    const index = log.findIndex((event) => wanted.every(([field, value]) => event[field] === value));
    const changed = log.with(index, change(log[index]!));
    const [first, second] = await replayed(toFile(changed));
    assert.equal(second!.found, undefined);
    assert.deepEqual([first!.found?.line, first!.found?.difference?.path], [index + 1, path]);
    assert.deepEqual(first!.found?.recorded, changed[index]);
  });
}

test("a line that is missing, and one too many, are the first difference", { timeout }, async () => {
  const done = log.findIndex((event) => event["kind"] === "loop_done" && event["scope"] === "u_7f3a");
  const without = await replayed(toFile(log.toSpliced(done, 1)), "u_7f3a");
  assert.equal(without[0]!.found?.replayed?.["kind"], "loop_done");
  const own = log.filter((event) => event["scope"] === "u_9");
  const last = own.at(-1)!;
  const more = {
    event_type: "bb_infer_request",
    id: "i_x",
    loop_id: "l_x",
    scope: "u_9",
    stream: true,
    round: 0,
    attempt: 0,
  };
  const longer = await replayed(toFile([...own, { ...more, seq: Number(last["seq"]) + 256 }]));
  assert.equal(longer[0]!.found?.line, own.length + 1);
  assert.equal(longer[0]!.found?.replayed, undefined);
});

test(
  "the command exits with 1, shows both lines and the field, and nothing in it moves the terminal's cursor",
  { timeout },
  async (t) => {
    const index = log.findIndex((event) => event["kind"] === "loop_done");
    const evil = { code: "internal", message: "\u001b[2J\u009b\u202e\n", retryable: false };
    const changed = toFile(log.with(index, { ...log[index]!, error: evil }));
    const cwd = await folder(t, { "log.jsonl": changed });
    const { code, out } = await new Cli(t, ["replay", "log.jsonl", "--scope", "u_9"], { cwd }).done;
    const shown = await new Cli(t, ["replay", "log.jsonl", "--scope", String(log[index]!["scope"])], { cwd }).done;
    assert.equal(shown.code, 1);
    assert.match(
      shown.out,
      new RegExp(`^DIFF {2}\\S+: at line ${index + 1}, behind \\d+ events that are the same$`, "m"),
    );
    for (const word of ["field     error", "was ", "is        (not there)", "recorded ", "replayed "])
      assert.ok(shown.out.includes(`\n      ${word}`), word);
    assert.doesNotMatch(shown.out + out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    assert.equal(code, log[index]!["scope"] === "u_9" ? 1 : 0);
  },
);

test("--json gives one line for each conversation, and a summary", { timeout }, async (t) => {
  const cwd = await folder(t, {
    "log.jsonl": toFile(
      log.map((event) => (event["kind"] === "loop_done" && event["scope"] === "u_9" ? { ...event, round: 3 } : event)),
    ),
  });
  const cli = new Cli(t, ["replay", "-", "--json"], { cwd, input: await readFile(join(cwd, "log.jsonl"), "utf8") });
  assert.equal((await cli.done).code, 1);
  const [first, second, last] = cli.lines();
  assert.deepEqual([first!["scope"], first!["same"]], ["u_7f3a", true]);
  const { same, path, was, is, events } = second!;
  assert.deepEqual({ same, path, was, is, events }, { same: false, path: "round", was: 3, is: 0, events: 4 });
  assert.deepEqual(last!["summary"] as object, { same: 1, different: 1, events: Number(first!["events"]) + 4 });
});

test(
  "the golden transcripts come out the same, those of questions, child turns, blobs and text calls too",
  { timeout },
  async () => {
    const files = (await readdir(TRANSCRIPTS)).filter((name) => name.endsWith(".jsonl") && name !== "one-turn.jsonl");
    assert.ok(files.length > 15);
    for (const file of files)
      for (const { found } of await replayed(await readFile(join(TRANSCRIPTS, file), "utf8")))
        assert.equal(found, undefined, file);
  },
);

test("a trace of all that passed is as good as the log: what is live only is passed over", { timeout }, async () => {
  const app = await App.open();
  await app.say("ship it");
  const [read] = await app.call(["read", { path: "a" }]);
  await app.tools.send({ event_type: "bb_tool_call_result", call_id: read!["call_id"], success: true, content: [] });
  await app.answer("Done.");
  const durable = (await logOf(app.world)).length;
  const trace = toFile(app.world.seen);
  await app.world.end();
  assert.deepEqual(
    (await replayed(trace)).map(({ events, found }) => ({ events, found })),
    [{ events: durable, found: undefined }],
  );
});

test(
  "a rename and a deletion are repeated, each in its place, and what begins after them (CVS-3, CVS-5)",
  { timeout },
  async () => {
    const app = await App.open();
    const { world, ui } = app;
    // As `bytebot tail` keeps it: the log itself has no more than what stays.
    const seen: Event[] = [];
    ui.react = (event) => void (event["seq"] !== undefined && seen.push(event));
    const turn = async (text: string): Promise<void> => {
      await ui.send(message(text, "u"));
      await app.infer.send(...textChunks(app.request, text), inferResult(app.request));
    };
    await turn("one");
    await ui.send({ event_type: "bb_rename", id: "r", scope: "u", title: "another" });
    await turn("two");
    await ui.send({ event_type: "bb_delete", id: "d", scope: "u" });
    await turn("three");
    const all = [...world.seen].filter((event) => event["seq"] !== undefined);
    const [whole] = await replayed(toFile(all));
    assert.deepEqual([whole?.found, whole?.notes], [undefined, []]);
    assert.ok(all.some(({ event_type }) => event_type === "conversation_deleted"));
    // Of what the log has, nothing is left to be renamed or deleted.
    const [left] = await replayed(toFile(await logOf(world)));
    assert.equal(left?.found, undefined);
    await world.end();
  },
);
