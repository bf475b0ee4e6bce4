import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LineLink } from "../../src/transport/index.ts";
import { standard } from "../../src/wire/index.ts";
import { Peer } from "./peer.ts";

const fixture = fileURLToPath(new URL("fixtures/stdio-satellite.ts", import.meta.url));

interface Started extends AsyncDisposable {
  peer: Peer;
  child: ChildProcess;
  /** Exit code or signal, and all that was printed on stderr. */
  ended: Promise<{ code: number | null; stderr: string }>;
}

function start(opts: string): Started {
  const child = spawn(process.execPath, [fixture], {
    env: { ...process.env, BYTEBOT_OPTS: opts, NODE_OPTIONS: "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const peer = new Peer();
  const { stdin: writable, stdout: readable } = child;
  const end = (): Promise<void> => {
    writable.end();
    return Promise.resolve();
  };
  peer.link = new LineLink({ name: "the satellite", readable, writable, limits: standard, end }, peer);
  const closed = once(child, "close") as Promise<[number | null]>;
  const ended = Promise.all([closed, text(child.stderr)]).then(([[code], stderr]) => ({ code, stderr }));
  return {
    peer,
    child,
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

test("over stdio a satellite gets its options, serves, keeps prints out of its events and exits with 0", async () => {
  await using started = start('{"name":"echoes"}');
  const { peer } = started;
  assert.equal((await peer.accept("toolsource"))["name"], "echoes");
  const registered = await peer.next("bb_tool_register");
  peer.send({ event_type: "bb_tool_register_result", in_reply_to: String(registered["id"]), success: true });
  const text = "a\u2028b 😀";
  peer.send({ event_type: "bb_tool_call_request", call_id: "c1", name: "echo", input: { text }, scope: "u_1" });
  const result = await peer.next("bb_tool_call_result");
  assert.deepEqual(result["content"], [{ type: "text", text }]);
  peer.send({ event_type: "bb_bye", reason: "the app stopped" });
  const { code, stderr } = await started.ended;
  assert.deepEqual(
    [code, stderr.split("\n")],
    [0, ["a print before sync", "a print from the tool", "ended: the app stopped; stopped: true", ""]],
  );
  assert.deepEqual(peer.faults, []);
});

test("the end of stdin ends the satellite, also one that still holds a server open (CON-8)", async () => {
  await using started = start("{}");
  await started.peer.accept("toolsource");
  await started.peer.next("bb_tool_register");
  await started.peer.link.close("the Hub is gone");
  const { code, stderr } = await started.ended;
  // Its registration was never answered, and main says so.
  assert.equal(code, 1);
  assert.match(stderr, /^bytebot: the connection closed: .*closed its output$/m);
});

test("a main that returns says goodbye and exits with 0", async () => {
  await using started = start('{"mode":"return"}');
  await started.peer.accept("toolsource");
  assert.equal((await started.peer.next("bb_bye"))["reason"], "its main returned");
  assert.equal((await started.ended).code, 0);
});

test("TERM lets the satellite say goodbye", async () => {
  await using started = start("{}");
  const { peer } = started;
  await peer.accept("toolsource");
  const registered = await peer.next("bb_tool_register");
  peer.send({ event_type: "bb_tool_register_result", in_reply_to: String(registered["id"]), success: true });
  peer.send({ event_type: "bb_ping" });
  await peer.next("bb_pong");
  started.child.kill("SIGTERM");
  assert.equal((await peer.next("bb_bye"))["reason"], "stopped");
  const { code, stderr } = await started.ended;
  assert.equal(code, 0);
  assert.match(stderr, /ended: stopped; stopped: true/);
});

test("a main that throws exits with 1 and one sentence", async () => {
  await using started = start('{"mode":"throw"}');
  const { code, stderr } = await started.ended;
  assert.equal(code, 1);
  const [print, sentence, ...rest] = stderr.split("\n");
  assert.equal(print, "a print before sync");
  assert.match(
    sentence ?? "",
    /^bytebot: the satellite failed: Error: no such model \(ENOENT\) at main \(.*stdio-satellite\.ts:\d+:\d+\)$/,
  );
  assert.deepEqual(rest, [""]);
});

test("options that are no JSON object are refused without being shown", async () => {
  for (const opts of ['{"key":"sk-secret', '["sk-secret"]']) {
    await using started = start(opts);
    const { code, stderr } = await started.ended;
    assert.deepEqual(
      [code, stderr],
      [1, 'bytebot: BYTEBOT_OPTS is no JSON object: set it to one, such as {"model":"m"}, or leave it unset\n'],
    );
  }
});
