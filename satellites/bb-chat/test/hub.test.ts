import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { Chat } from "./harness.ts";

const python = spawnSync("python3", ["--version"]).status === 0;
const skip = python && process.platform !== "win32" ? false : "needs python3, whose pty module is the terminal";

test(
  "on a real Hub: a talk, an approved call, a form that the Hub refuses once, an interrupt that returns what was queued, a failure, and out",
  { skip },
  async (t) => {
    const chat = new Chat(t, { program: "app.ts", terminal: { columns: 100, rows: 30 } });
    await chat.ready();
    chat.type("hello there\r");
    await chat.shows("you: hello there");
    await chat.shows("heard hello there");

    chat.type("call\r");
    await chat.shows("May scales/weigh run?");
    await chat.shows('"what": "a feather"');
    chat.type("1");
    await chat.shows("❯ 1. once");
    chat.type("\r");
    await chat.shows("→ ok: a feather: 1 g");
    await chat.shows("heard the tool said a feather: 1 g");

    const types = async (keys: string, shows: string) => {
      const from = chat.screen.length;
      chat.type(keys);
      await chat.shows(shows, from);
    };
    await types("book\r", "3. deny");
    await types("1", "❯ 1. once");
    await types("\r", "seats (1 of 2; a whole number, then Enter)");
    await types("9\r", "window (2 of 2; a number or the arrows, then Enter; may be left out)");
    await types("1\r", "the question stays open");
    assert.match(chat.screen.slice(-600), /seats \(1 of 2.*\n> 9\s+input\/seats: 9 is greater than 4/s);
    await types("\u007f4\r", "window (2 of 2");
    await types("\r", 'heard the tool said accepted: {"seats":4,"window":true}');

    chat.type("wait\r");
    await chat.shows("you: wait");
    await chat.shows("writing", chat.screen.indexOf("you: wait"));
    chat.type("and then\r");
    await chat.shows("queued: you: and then");
    chat.type("\u001b");
    await chat.shows("Interrupted.");
    await chat.shows("> and then", chat.screen.indexOf("Interrupted."));

    chat.type("\u0015fail\r");
    await chat.shows("The turn failed: the script ends here (unavailable)");
    chat.type("\u0004");
    assert.deepEqual(await chat.exit(), { code: 0, restored: true });
  },
);

test("on a real Hub without a terminal: an answer is printed, a call that needs a person is denied, or approved with yes, a failure rejects", async (t) => {
  const talk = new Chat(t, { program: "app.ts" });
  talk.type("one\ntwo words\n");
  talk.endInput();
  assert.equal((await talk.exit()).code, 0);
  assert.equal(talk.output, "heard one \nheard two words \n");

  const call = new Chat(t, { program: "app.ts", opts: { once: "call" } });
  assert.equal((await call.exit()).code, 0);
  assert.match(call.output, /^heard the tool said /);
  assert.match(
    call.stderr,
    /^declined, as nobody is here to answer: may scales\/weigh run\? \{"what":"a feather"\}\n\(--yes .*\n.*→ denied: /,
  );

  const yes = new Chat(t, { program: "app.ts", opts: { once: "call", yes: true } });
  assert.equal((await yes.exit()).code, 0);
  assert.equal(yes.output, "heard the tool said a feather: 1 g \n");
  assert.match(yes.stderr, /^approved, as you said yes to all: may scales\/weigh run\?.*\n.*→ ok: a feather: 1 g\n$/);

  const failure = new Chat(t, { program: "app.ts", opts: { once: "fail" } });
  assert.equal((await failure.exit()).code, 1);
  assert.match(failure.stderr, /the script ends here/);
});
