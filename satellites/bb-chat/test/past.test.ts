import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { answer, Chat, type Start, type Wire } from "./harness.ts";

const python = spawnSync("python3", ["--version"]).status === 0;
const skip = python && process.platform !== "win32" ? false : "needs python3, whose pty module is the terminal";
const terminal = { columns: 100, rows: 40 };

function fileFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "bb-chat-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "chat.db");
}

/** The history of so many turns; `seq` counts. */
function history(turns: number, more = false): Wire {
  const events = Array.from({ length: turns }, (_, n): Wire[] => [
    { event_type: "user_event", type: "message", id: `m${n}`, text: `question ${n}.`, from: "ui-1" },
    ...answer(`l${n}`, `Answer ${n}.`).filter(({ kind }) => kind === "block_stop" || kind === "loop_done"),
  ]);
  const counted = events.flat().map((event, seq) => ({ scope: "local", seq, cursor: `m1:${seq}`, ...event }));
  return { event_type: "bb_history_result", success: true, events: counted, more };
}

async function open(t: TestContext, start: Start): Promise<Chat> {
  const chat = new Chat(t, { terminal, ...start });
  await chat.ready();
  return chat;
}

test("a chat that begins where something was said before shows it, and says so", { skip }, async (t) => {
  const past = history(3);
  const events = past["events"] as Wire[];
  events.push({ ...events[0]!, id: "o", from: "phone", text: "and from me", seq: 20 });
  const chat = await open(t, { past, opts: { banner: "a banner" } });
  await chat.shows("phone: and from me");
  const lines = chat.screen.split(/\r?\n/).map((line) => line.trim());
  const from = lines.indexOf("a banner");
  assert.deepEqual(lines.slice(from, from + 5), [
    "a banner",
    "The conversation so far:",
    "you: question 0.",
    "Answer 0.",
    "you: question 1.",
  ]);
  // What the page had, and comes live because it happened while the page was read, is shown once.
  const twice = events[1]!;
  chat.send(twice, { ...twice, loop_id: "l9", seq: 30 });
  chat.send({ event_type: "infer_chunk", kind: "loop_done", loop_id: "l9", stop_reason: "end_turn", seq: 31 });
  await chat.shows("Answer 0.", chat.screen.indexOf("and from me"));
  assert.equal(chat.screen.split("Answer 0.").length - 1, 2);
});

test("of a long past only the newest is shown, and that there is more", { skip }, async (t) => {
  const chat = await open(t, { past: history(40) });
  await chat.shows("Answer 39.");
  assert.match(chat.screen, /The newest part of the conversation so far:\s+you: question 30\.\s+Answer 30\./);
  assert.doesNotMatch(chat.screen, /question 29\./);
  const cut = await open(t, { past: history(2, true) });
  await cut.shows("The newest part of the conversation so far:");
});

test(
  "where nothing was said nothing is said of it; a past that cannot be read keeps nobody from talking",
  { skip },
  async (t) => {
    const fresh = await open(t, {});
    await fresh.shows("idle");
    assert.doesNotMatch(fresh.screen, /conversation/);
    const error = { code: "internal", message: "the entry 7 is damaged", retryable: false };
    const chat = await open(t, { past: { event_type: "bb_history_result", success: false, error } });
    await chat.shows("What was said before cannot be shown: the entry 7 is damaged");
    chat.type("hello\r");
    await chat.takes("l1");
  },
);

test("without a terminal nothing old is asked for or printed", async (t) => {
  for (const opts of [{ once: "now" }, {}]) {
    const chat = new Chat(t, { past: history(3), opts });
    if (!("once" in opts)) chat.type("now\n");
    await chat.takes("l1");
    chat.send(...answer("l1", "This is new."));
    chat.endInput();
    assert.equal((await chat.exit()).code, 0);
    assert.deepEqual([chat.output, chat.asked], ["This is new.\n", 0]);
  }
});

test(
  "a chat that is killed in the middle of an answer goes on when it is started again: all is shown, and the model knows it (DUR-1, REC-1)",
  { skip },
  async (t) => {
    const file = fileFor(t);
    const first = await open(t, { program: "app.ts", file });
    first.type("hello there\r");
    await first.shows("heard hello there");
    await first.shows("idle", first.screen.indexOf("heard hello there"));
    first.type("wait\r");
    await first.shows("heard wait");
    first.type("and then\r");
    await first.shows("queued: you: and then");
    await first.kill();

    const second = await open(t, { program: "app.ts", file });
    await second.shows("The conversation so far:");
    await second.shows("you: hello there");
    await second.shows("heard hello there");
    await second.shows("you: wait", second.screen.indexOf("heard hello there"));
    await second.shows("queued: you: and then");
    // The turn that was cut off goes on by itself.
    await second.shows("heard wait");
    second.type("\u001b");
    await second.shows("Interrupted.");
    await second.shows("> and then", second.screen.indexOf("Interrupted."));
    second.type("\u0015all\r");
    await second.shows("hello there, wait, all");
    second.type("\u0004");
    assert.deepEqual(await second.exit(), { code: 0, restored: true });
  },
);
