import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Chat } from "./harness.ts";

const python = spawnSync("python3", ["--version"]).status === 0;
const skip = python && process.platform !== "win32" ? false : "needs python3, whose pty module is the terminal";
const terminal = { columns: 100, rows: 40 };
const app = join(import.meta.dirname, "fixture/screens.app.json");

/** `bytebot` on terminals of one machine: what it starts is found by the others. */
function machine(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "bb-screens-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { TMPDIR: folder, XDG_RUNTIME_DIR: folder };
  return async (...bytebot: string[]): Promise<Chat> => {
    const chat = new Chat(t, { bytebot, terminal, env });
    await chat.ready();
    return chat;
  };
}

/** These lines are on the screen, in this order. */
async function shows(chat: Chat, ...lines: string[]): Promise<void> {
  let at = 0;
  for (const line of lines) {
    await chat.shows(line, at);
    at = chat.screen.indexOf(line, at) + line.length;
  }
}

test(
  "two bytebot chats on one conversation share what is said, an approval and an interrupt, and none has a wrong line",
  { skip },
  async (t) => {
    const bytebot = machine(t);
    const first = await bytebot("chat", app);
    const second = await bytebot("chat", "--join");

    first.type("hello there\r");
    await shows(first, "you: hello there", "heard hello there", "idle");
    await shows(second, "chat: hello there", "heard hello there", "idle");

    second.type("call\r");
    for (const screen of [first, second]) await shows(screen, "May scales/weigh run?", "1. once");
    first.type("1");
    await first.shows("❯ 1. once");
    first.type("\r");
    await shows(first, "May scales/weigh run? answered: once", "→ ok: a feather: 1 g", "heard the tool said", "idle");
    await shows(
      second,
      "May scales/weigh run? answered: once (by chat)",
      "→ ok: a feather: 1 g",
      "heard the tool said",
      "idle",
    );

    first.type("wait\r");
    for (const screen of [first, second]) await screen.shows("heard wait");
    first.type("mine\r");
    await first.shows("queued: you: mine");
    await second.shows("queued: chat: mine");
    second.type("half a thought");
    await second.shows("> half a thought");
    second.type("\u001b");
    await shows(first, "Your message was not delivered.", "Interrupted by screen.", "> mine");
    await shows(second, "Interrupted.", "> half a thought");

    // One that comes while a question is open is asked it too.
    const before = first.screen.length;
    first.type("\u0015call\r");
    await first.shows("1. once", before);
    const third = await bytebot("chat", "--join");
    await shows(
      third,
      "The conversation so far:",
      "chat: wait",
      "heard wait",
      "chat: call",
      "May scales/weigh run?",
      "1. once",
    );
    third.type("3");
    await third.shows("❯ 3. deny");
    third.type("\r");
    await shows(third, "answered: deny", "→ denied");
    for (const screen of [first, second]) await shows(screen, "answered: deny (by screen-2)", "→ denied");

    const said = ["chat: hello there", "screen: call", "chat: wait", "chat: call"];
    await shows(third, said[0]!, said[1]!, "→ ok: a feather: 1 g", said[2]!, said[3]!);
    await shows(first, "you: hello there", "screen: call", "you: wait", "you: call");
    await shows(second, "chat: hello there", "you: call", "chat: wait", "chat: call");
    for (const screen of [first, second, third]) assert.doesNotMatch(screen.screen, /someone else|lost|failed/);

    second.type("\u0015\u0004");
    assert.deepEqual(await second.exit(), { code: 0, restored: true });
    first.type("\u0004");
    assert.deepEqual(await first.exit(), { code: 0, restored: true });
    assert.deepEqual(await third.exit(), { code: 0, restored: true });
    assert.match(third.screen, /The connection to the Hub has ended: /);
  },
);
