import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Cli, folder, leftOf } from "./cli.ts";

const timeout = 60_000;
const cwd = join(import.meta.dirname, "../check/fixtures");

function check(kind: string, wrong: string[], ...options: string[]): string[] {
  return ["check", "--kind", kind, ...options, "--", "python3", `${kind}.py`, ...wrong];
}

test(
  "a report has a line for each check and a sum, and the exit code says that all is well",
  { timeout },
  async (t) => {
    const { code, out, err } = await new Cli(t, check("telemetry", []), { cwd }).done;
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^telemetry, telemetry, over stdio\n\nok {3}CON-2 {3}Its first event is bb_sync/);
    assert.match(out, /\n\n\d\d passed, 0 failed, 0 warned, 0 not applicable\n$/);
  },
);

test("what fails is shown with what was sent, what came, what was expected, and what to do", { timeout }, async (t) => {
  const { code, out } = await new Cli(t, check("ui", ["splitlines"], "--rule", "frm-3", "--timeout", "2"), { cwd })
    .done;
  assert.equal(code, 1);
  assert.match(out, /FAIL FRM-3 {3}U\+2028 and U\+2029, raw within a line, are text and not its end/);
  assert.match(out, / {4}expected {2}bb_pong with "in_reply_to":"p_\w+"\n/);
  assert.match(out, / {4}got {7}nothing of that in 2 s\n/);
  assert.match(out, / {4}hub {2}→ {2}\{"event_type":"bb_ping".*one\\u2028two\\u2029three/);
  assert.match(out, / {4} {5}← {2}\{"event_type": "bb_sync"/);
  assert.match(out, / {4}fix {7}read bytes and cut them at 0x0A/);
  assert.match(out, /1 passed, 1 failed/);
});

test("--json prints each outcome as a line, and the sum", { timeout }, async (t) => {
  const cli = new Cli(t, check("telemetry", ["prints"], "--rule", "FRM-11", "--json"), { cwd });
  assert.equal((await cli.done).code, 1);
  const [outcome, summary, ...more] = cli.lines();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [outcome!["rule"], outcome!["state"], outcome!["lines"]],
    ["FRM-11", "failed", [{ from: "satellite", line: "Starting the server..." }]],
  );
  assert.deepEqual(summary, { summary: { passed: 0, failed: 1, warned: 0, not_applicable: 0 } });
});

test("without a handshake one check fails, and the others say that they need it", { timeout }, async (t) => {
  const { code, out } = await new Cli(t, check("context", ["silent"], "--timeout", "1"), { cwd }).done;
  assert.equal(code, 1);
  assert.match(out, /FAIL CON-2/);
  assert.match(out, /not applicable: there is no handshake \(CON-2\)/);
  assert.match(out, /\n\n0 passed, 1 failed/);
});

test("what a satellite prints moves no cursor of whoever reads the report", { timeout }, async (t) => {
  const program = `process.stdout.write("\\u001b[2J\\u009b31m\\u202e\\n"); console.error("\\u001b[2J"); process.exit(3)`;
  const { code, out } = await new Cli(t, ["check", "--kind", "ui", "--", "node", "-e", program], { cwd }).done;
  assert.equal(code, 1);
  assert.match(out, /it exited with code 3/);
  assert.ok(out.includes(String.raw`\u001b[2J\u009b31m\u202e`), out);
  assert.doesNotMatch(out.replaceAll("\n", ""), /[\u0000-\u001f\u007f-\u009f\u202e]/);
});

test("what cannot be run at all is told in a sentence, with an exit code of its own", { timeout }, async (t) => {
  const files = {
    "bytebot.component.json": { schema_version: 1, kind: "ui", entry: { type: "stdio", command: ["no-such-program"] } },
  };
  const there = await folder(t, files);
  for (const [args, says] of [
    [["check", "./nowhere"], /there is no .*nowhere/],
    [["check", "."], /"no-such-program", which is not on the PATH/],
  ] as const) {
    const { code, out, err } = await new Cli(t, [...args], { cwd: there }).done;
    assert.equal(code, 2, out + err);
    assert.match(err, says);
    assert.equal(err.trim().split("\n").length, 1, err);
  }
});

test("a program that dials in is told by its environment where its Hub is, and its token", { timeout }, async (t) => {
  const args = ["check", "--listen", "--kind", "ui", "--rule", "HTP-2", "--rule", "HTP-7", "--json", "--", "python3"];
  const good = new Cli(t, [...args, "ui.py"], { cwd });
  assert.equal((await good.done).code, 0, good.out + good.err);
  const states = good.lines().map(({ rule, state, summary }) => (summary ? "" : `${String(rule)} ${String(state)}`));
  assert.deepEqual(states, ["HTP-2 passed", "HTP-7 passed", "HTP-7 passed", "HTP-7 passed", ""]);
  const bad = await new Cli(t, [...args, "ui.py", "counts-blanks"], { cwd }).done;
  assert.equal(bad.code, 1);
  assert.match(
    bad.out,
    /"rule":"HTP-7".*"state":"failed","expected":"Bytebot-Received: \d+","got":"Bytebot-Received: \d+"/,
  );
});

test("a program that comes without its token is told of", { timeout }, async (t) => {
  const program = `fetch(process.env.BYTEBOT_HUB + "/inbox", { method: "POST", body: "{}" }).then(() => setTimeout(() => {}, 9000))`;
  const args = ["check", "--listen", "--timeout", "2", "--kind", "ui", "--rule", "CON-2", "--", "node", "-e", program];
  const { code, out } = await new Cli(t, args, { cwd }).done;
  assert.equal(code, 1);
  assert.match(out, /FAIL CON-2[^]*refused with 401, without BYTEBOT_TOKEN: POST \/inbox/);
});

test("--listen takes a port and a host, and says what is wrong with others", { timeout }, async (t) => {
  const args = ["--kind", "ui", "--rule", "HTP-2", "--", "python3", "ui.py"];
  const { code, out } = await new Cli(t, ["check", "--listen", "127.0.0.1:0", ...args], { cwd }).done;
  assert.equal(code, 0, out);
  assert.match(out, /^ui, ui, dialling in over HTTP\n\nok {3}HTP-2/);
  for (const [wrong, says] of [
    [["--listen=nowhere", ...args], /--listen "nowhere" is no \[host:\]port/],
    [["--listen", "http://127.0.0.1:9", "--kind", "ui"], /--listen needs a program that dials in/],
  ] as const) {
    const { code: failed, err } = await new Cli(t, ["check", ...wrong], { cwd }).done;
    assert.equal(failed, 2);
    assert.match(err, says);
  }
});

test("a check of a server that never answers can be stopped at once", { timeout }, async (t) => {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const manifest = JSON.stringify({ schema_version: 1, kind: "ui", entry: entryAt(port) });
  const there = await folder(t, { "bytebot.component.json": manifest });
  const cli = new Cli(t, ["check", "."], { cwd: there });
  await asked.promise;
  cli.kill("SIGINT");
  assert.equal((await cli.done).code, 2);
});

function entryAt(port: number): object {
  const url = `http://127.0.0.1:${port}`;
  return { type: "http", stream: `${url}/stream`, inbox: `${url}/inbox` };
}

test("a check that is stopped leaves nothing running", { timeout }, async (t) => {
  const mark = await folder(t);
  const cli = new Cli(t, check("context", ["silent"]), { cwd, env: { TMPDIR: mark } });
  await cli.until("its first line", ({ out }) => out !== "");
  cli.kill("SIGINT");
  assert.equal((await cli.done).code, 2);
  assert.deepEqual(leftOf(mark), []);
});
