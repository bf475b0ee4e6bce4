import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import * as bb from "../../src/sdk/index.ts";
import { ask } from "../http/client.ts";
import { appOf } from "./apps.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;
const policy = [{ tool: "*", decision: "allow" }];

/** The program, serving, and what it says of that. */
async function listening(t: TestContext, args: string[], env: Record<string, string>, app: object = {}) {
  const files = appOf("tools", "infer", "context");
  const cwd = await folder(t, { ...files, "bytebot.app.json": { ...files["bytebot.app.json"], policy, ...app } });
  const cli = new Cli(t, ["run", ...args], { cwd, env: { TMPDIR: cwd, BYTEBOT_TOKEN: "", ...env } });
  await cli.until("where it listens", ({ err }) => err.includes("listening on ") && err.endsWith("\n"));
  const [, url = "", how] = /^listening on (\S+?)(?:, (.*))?\n$/m.exec(cli.err) ?? [];
  return { cwd, cli, url, how };
}

/** A UI that dials in, says one thing and leaves when it was answered; what it was shown. */
async function says(url: string, token: string): Promise<string> {
  let said = "";
  const main: bb.Main = async () => {
    const ui = await bb.sync({ kind: "ui" });
    ui.onInferChunk(({ kind, delta }) => {
      if (typeof delta === "string") said += delta;
      if (kind === "loop_done") void ui.close();
    });
    const started = ui.start();
    await ui.sendUserEvent("u_1", "ship it");
    await started;
  };
  await bb.dialHttp(main, { url, token });
  return said;
}

test(
  "run --listen lets a UI in with the token of a file that only this user reads, and removes it at its end (HTP-11)",
  { timeout },
  async (t) => {
    const { cli, url, how } = await listening(t, ["--listen", "0"], {});
    const file = /^for whoever has the token in (.*)$/.exec(how!)![1]!;
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const token = (await readFile(file, "utf8")).trim();
    assert.match(token, /^[\w-]{43}$/);
    assert.match(await says(url, token), /Done/);
    await assert.rejects(says(url, "wrong"), { code: "unauthorized" });
    cli.kill("SIGTERM");
    assert.equal((await cli.done).code, 0);
    assert.deepEqual(await readdir(dirname(file)), []);
    await assert.rejects(ask(url));
  },
);

test(
  "run --listen takes BYTEBOT_TOKEN where it is set, or those of the app file, each of its own name (HTP-11)",
  { timeout },
  async (t) => {
    const own = await listening(t, ["--listen", "127.0.0.1:0"], { BYTEBOT_TOKEN: "chosen" });
    assert.equal(own.how, "for whoever has this app's BYTEBOT_TOKEN");
    assert.match(await says(own.url, "chosen"), /Done/);
    own.cli.kill("SIGTERM");
    await own.cli.done;
    const phone = { name: "phone", kind: "ui", env: "PHONE_TOKEN" };
    const app = { listen: { port: 0, tokens: [phone] } };
    const named = await listening(t, [], { PHONE_TOKEN: "ring", BYTEBOT_TOKEN: "chosen" }, app);
    assert.equal(named.how, undefined);
    assert.match(await says(named.url, "ring"), /Done/);
    await assert.rejects(says(named.url, "chosen"), { code: "unauthorized" });
    const folderOf = (await readdir(own.cwd)).find((name) => name.startsWith("bytebot-"))!;
    assert.deepEqual(await readdir(join(own.cwd, folderOf)), []);
  },
);

test("chat that serves its app, too, leaves no token behind when it has ended (HTP-11)", { timeout }, async (t) => {
  const files = appOf("tools", "infer", "context");
  const app = { ...files["bytebot.app.json"], log: "memory", listen: { port: 0 } };
  const cwd = await folder(t, { ...files, "bytebot.app.json": app });
  const env = { TMPDIR: cwd, BYTEBOT_TOKEN: "" };
  const { code, err } = await new Cli(t, ["chat", "bytebot.app.json", "--once", "hello"], { cwd, env }).done;
  assert.equal(code, 0, err);
  const file = /whoever has the token in (.*)$/m.exec(err)![1]!;
  assert.deepEqual(await readdir(dirname(file)), []);
});

test(
  "a token that no header carries is refused by its name: by the app, by chat --hub and by token --hub (HTP-11)",
  { timeout },
  async (t) => {
    const files = appOf("tools");
    const phone = { name: "phone", env: "PHONE_TOKEN" };
    const named = { ...files["bytebot.app.json"], listen: { port: 0, tokens: [phone] } };
    const cwd = await folder(t, { ...files, "named.app.json": named });
    const env = { TMPDIR: cwd, BYTEBOT_TOKEN: "two words", PHONE_TOKEN: "phone\n" };
    const cases: [string, ...string[]][] = [
      ["BYTEBOT_TOKEN is no token: character 4 is a space", "run", "--listen", "0"],
      ["PHONE_TOKEN is no token: character 6 is the end of a line", "run", "named.app.json"],
      ["BYTEBOT_TOKEN is no token", "chat", "--hub", "http://127.0.0.1:9", "--once", "x"],
      ["BYTEBOT_TOKEN is no token", "token", "list", "--hub", "http://127.0.0.1:9"],
    ];
    for (const [name, ...args] of cases) {
      const { code, err } = await new Cli(t, args, { cwd, env }).done;
      assert.deepEqual([code, err.startsWith(`bytebot: ${name}`)], [1, true], err);
      assert.doesNotMatch(err, /two words|listening on/);
    }
  },
);

test("run --listen refuses what is no address, and a port that is in use, by name", { timeout }, async (t) => {
  const cwd = await folder(t, appOf("tools"));
  for (const wrong of ["99999", "a:b:1"]) {
    const { code, err } = await new Cli(t, ["run", "--listen", wrong], { cwd, env: { TMPDIR: cwd } }).done;
    assert.deepEqual([code, err.includes(`--listen ${JSON.stringify(wrong)} is no [host:]port`)], [2, true], err);
  }
  const { url } = await listening(t, ["--listen", "0"], {});
  const { code, err } = await new Cli(t, ["run", "--listen", new URL(url).port], { cwd, env: { TMPDIR: cwd } }).done;
  assert.deepEqual([code, /in use: choose another/.test(err)], [1, true], err);
});
