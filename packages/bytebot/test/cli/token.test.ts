import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as bb from "../../src/sdk/index.ts";
import { appOf } from "./apps.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;

/** A ui that dials in and says one thing; resolves when it was answered. */
async function says(url: string, token: string): Promise<void> {
  const main: bb.Main = async () => {
    const ui = await bb.sync({ kind: "ui" });
    ui.onInferChunk(({ kind }) => void (kind === "loop_done" && ui.close()));
    const started = ui.start();
    await ui.sendUserEvent("u_1", "ship it");
    await started;
  };
  await bb.dialHttp(main, { url, token });
}

async function running(t: TestContext) {
  const files = appOf("infer");
  const tokens = [{ name: "desk", kind: "ui", scopes: ["u_1"], controller: true, principal: "jo", env: "DESK" }];
  const listen = { port: 0, tokens };
  const cwd = await folder(t, { ...files, "bytebot.app.json": { ...files["bytebot.app.json"], listen } });
  const env = { TMPDIR: cwd, BYTEBOT_TOKEN: "", DESK: "a-long-random-text-of-the-desk" };
  const app = new Cli(t, ["run"], { cwd, env });
  await app.until("where it listens", ({ err }) => /listening on \S+\n/.test(err));
  const url = /listening on (\S+)\n/.exec(app.err)![1]!;
  const bytebot = (...args: string[]) => new Cli(t, args, { cwd, env }).done;
  const asDesk = (...args: string[]) =>
    new Cli(t, ["token", ...args, "--hub", url], { cwd, env: { ...env, BYTEBOT_TOKEN: env.DESK } }).done;
  return { app, url, bytebot, asDesk };
}

test(
  "token mints for a running app, lists what there is and takes it back; the log says who its bearer is (TOK-1, TOK-3, PRN-3)",
  { timeout },
  async (t) => {
    const { app, url, bytebot, asDesk } = await running(t);
    const wanted = ["--scope", "u_1", "--principal", "kim", "--name", "phone", "--expires", "2h"];
    const made = await bytebot("token", "mint", ...wanted);
    assert.equal(made.code, 0, made.err);
    assert.match(made.out, /^[\w-]{43}\n$/, "the token alone, so that it can be piped");
    const [, id = ""] = /^(t_[0-9a-f]{16}), good until \S+Z; it is shown this once:\n$/.exec(made.err) ?? [];
    await says(url, made.out.trim());
    const listed = await bytebot("token", "list");
    assert.match(listed.out, new RegExp(`^${id} +phone +ui +u_1 +is kim, until \\S+Z, by app\\n$`));
    assert.match((await bytebot("log", "show", "u_1")).out, /user_event +by kim {2}ship it\n/);
    const [wider, own] = [await asDesk("mint", "--scope", "u_2"), await asDesk("mint", "--scope", "u_1/c", "--json")];
    assert.deepEqual([wider.code, wider.out], [1, ""]);
    assert.match(wider.err, /never wider than its maker: "scopes": "u_2"/);
    assert.equal(own.code, 0, own.err);
    assert.deepEqual(Object.keys(JSON.parse(own.out) as object), ["token", "token_id", "expires_at"]);
    assert.match((await asDesk("list")).out, /^t_[0-9a-f]{16} +\* +ui +u_1\/c +is jo, until \S+Z, by desk\n$/);
    assert.match((await asDesk("revoke", id)).err, /no token "t_/);
    assert.deepEqual((await bytebot("token", "revoke", id)).code, 0);
    await assert.rejects(says(url, made.out.trim()), { code: "unauthorized" });
    assert.ok(
      !app.err.includes(made.out.trim()) && app.err.includes(`token ${id} (phone) was revoked by app`),
      app.err,
    );
  },
);

test("token says what is wrong with its command line, and where no app runs", { timeout }, async (t) => {
  const cwd = await folder(t, {});
  const cases: [code: number, why: RegExp, ...args: string[]][] = [
    [2, /a command is needed: mint, list or revoke/],
    [2, /there is no command "make"/, "make"],
    [2, /--scope is needed/, "mint"],
    [2, /--scope "\.\." is no scope/, "mint", "--scope", ".."],
    [2, /--expires "soon" is no time/, "mint", "--scope", "u", "--expires", "soon"],
    [2, /--role root: there are primary, controller, content, vouches/, "mint", "--scope", "u", "--role", "root"],
    [2, /--principal is 1 to 128/, "mint", "--scope", "u", "--principal", "k\u202eim"],
    [2, /revoke needs the id of a token/, "revoke", "phone"],
    [2, /name several apps/, "list", "--pid", "1", "--hub", "http://127.0.0.1:1"],
    [1, /no running app has its socket in/, "list"],
  ];
  for (const [code, why, ...args] of cases) {
    const ended = await new Cli(t, ["token", ...args], { cwd, env: { TMPDIR: cwd } }).done;
    assert.deepEqual([ended.code, ended.out], [code, ""], args.join(" "));
    assert.match(ended.err, why);
  }
});
