import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { appOf } from "./apps.ts";
import { Cli, folder, leftOf } from "./cli.ts";

const timeout = 60_000;
const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const SYNC = { event_type: "bb_sync", kind: "ui", owner: true };

/** A program that owns its Hub: lines of JSON, by hand. */
class OwnerProgram {
  readonly done: Promise<unknown[]>;
  readonly seen: Event[] = [];
  private readonly child;
  private readonly lines;

  constructor(t: TestContext, cwd: string, ...options: string[]) {
    const env = { ...process.env, TMPDIR: cwd };
    this.child = spawn(process.execPath, [MAIN, "hub", "--stdio", ...options], { cwd, env });
    this.child.stderr.resume();
    this.done = once(this.child, "close");
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    t.after(() => this.child.kill("SIGKILL"));
  }

  send(event: object): void {
    this.child.stdin.write(`${JSON.stringify(event)}\n`);
  }

  end(): void {
    this.child.stdin.end();
  }

  async take(): Promise<Event> {
    const { value, done } = await this.lines.next();
    assert.ok(done !== true, "the Hub ended");
    const event = JSON.parse(value as string) as Event;
    this.seen.push(event);
    return event;
  }

  /** The next event of this type; `observed`: a copy of what happens. */
  async next(type: string, observed?: true): Promise<Event> {
    for (;;) {
      const event = await this.take();
      if (event.event_type === type && event["observed"] === observed) return event;
    }
  }
}

test(
  "a program owns its Hub over stdio: it attaches, speaks, sees what happens, and nothing is left when it ends (OWN-2, OWN-3)",
  { timeout },
  async (t) => {
    const cwd = await folder(t, appOf("tools", "context"));
    const owner = new OwnerProgram(t, cwd);
    owner.send(SYNC);
    const ack = await owner.next("bb_sync_ack");
    assert.deepEqual([ack["owner"], ack["controller"], ack["scopes"]], [true, false, ["*"]]);
    owner.send({ event_type: "bb_attach", id: "a_1", ref: "./context", kind: "context", primary: true });
    owner.send({ event_type: "bb_attach", id: "a_2", ref: "./nothing" });
    const failed = await owner.next("bb_attach_result");
    assert.deepEqual([failed["in_reply_to"], failed["success"]], ["a_2", false]);
    const attached = await owner.next("bb_attach_result");
    assert.deepEqual([attached["in_reply_to"], attached["component_id"]], ["a_1", "context"]);
    owner.send({ event_type: "bb_components", id: "c_1" });
    const [context] = (await owner.next("bb_components_result"))["components"] as { controller: boolean }[];
    assert.equal(context?.controller, true, "an owner takes no controller's place");
    owner.send({ event_type: "user_event", id: "u_1", type: "message", scope: "u_7f3a", text: "ship it" });
    assert.equal((await owner.next("bb_ack"))["fate"], "started");
    assert.equal((await owner.next("infer_chunk", true))["kind"], "loop_done");
    owner.send({ event_type: "bb_detach", id: "d_1", component_id: "context" });
    assert.equal((await owner.next("bb_detach_result"))["success"], true);
    owner.send({ event_type: "bb_policy", id: "y_1", rules: [{ tool: "*", decision: "maybe" }] });
    assert.equal((await owner.next("bb_error"))["code"], "invalid_event");
    owner.send({ event_type: "bb_turn_request", id: "t_1", scope: "u_7f3a", content: "hi" });
    assert.equal((await owner.next("bb_error"))["code"], "forbidden");
    owner.end();
    assert.deepEqual(await owner.done, [0, null]);
    assert.deepEqual(leftOf(cwd), []);
  },
);

test(
  "what an owner sends again under its id runs once, after a restart too, and whose it is stands in the log (ENV-3, REC-3, PRN-3)",
  { timeout },
  async (t) => {
    const cwd = await folder(t, appOf("tools"));
    const input = { path: "a.txt", content: "hello" };
    const call = { event_type: "bb_tool_call_request", id: "call-1", scope: "u_1", name: "create-user-file", input };
    const calls = new Set<unknown>();
    const ran: unknown[] = [];
    for (const time of ["first", "restarted"]) {
      const owner = new OwnerProgram(t, cwd, "--db", "app.db");
      owner.send({ ...SYNC, types: ["bb_tool_call_request"] });
      await owner.next("bb_sync_ack");
      owner.send({ event_type: "bb_attach", id: "a_1", ref: "./tools", kind: "toolsource" });
      await owner.next("bb_attach_result");
      for (let again = 0; again < 2; again++) {
        owner.send({ ...call, principal: "kim" });
        const result = await owner.next("bb_tool_call_result");
        assert.deepEqual([result["in_reply_to"], result["success"]], ["call-1", true]);
        calls.add(result["call_id"]);
      }
      if (time === "first") {
        owner.send({ ...call, principal: "kim", input: { ...input, content: "other" } });
        assert.equal((await owner.next("bb_error"))["code"], "conflict");
      }
      owner.send({ ...call, id: `end-${time}`, principal: "lou" });
      const { call_id: end } = await owner.next("bb_tool_call_result");
      const isCopy = ({ call_id, observed }: Event): boolean => observed === true && call_id === end;
      while (!owner.seen.some(isCopy)) await owner.take();
      for (const { observed, call_id, principal } of owner.seen)
        if (observed) ran.push([calls.has(call_id), principal]);
      owner.end();
      assert.deepEqual(await owner.done, [0, null]);
    }
    assert.equal(calls.size, 1);
    assert.deepEqual(ran, [
      [true, "kim"],
      [false, "lou"],
      [false, "lou"],
    ]);
  },
);

test("an owner lists, renames, forks and deletes conversations, and makes tokens (OWN-2)", { timeout }, async (t) => {
  const owner = new OwnerProgram(t, await folder(t));
  owner.send({ ...SYNC, types: ["infer_chunk"] });
  await owner.next("bb_sync_ack");
  const ask = async (type: string, fields: object): Promise<Event> => {
    owner.send({ event_type: type, id: "o_1", ...fields });
    return owner.next(`${type}_result`);
  };
  owner.send({ event_type: "user_event", id: "m_1", type: "message", scope: "u/a", text: "hello" });
  const { seq: at } = await owner.next("infer_chunk", true);
  assert.equal((await ask("bb_rename", { scope: "u/a", title: "The first" }))["success"], true);
  assert.equal((await ask("bb_fork", { scope: "u/a", at, to: "u/b" }))["to"], "u/b");
  assert.equal((await ask("bb_delete", { scope: "u/a", principal: "kim" }))["success"], true);
  const { conversations, in_reply_to } = await ask("bb_conversations", { scope: "u" });
  assert.deepEqual([(conversations as { scope: string }[]).map(({ scope }) => scope), in_reply_to], [["u/b"], "o_1"]);
  owner.send({ event_type: "bb_rename", id: "o_2", scope: "u/a", title: "Gone" });
  const refused = await owner.next("bb_error");
  assert.deepEqual([refused["code"], refused["in_reply_to"]], ["not_found", "o_2"]);
  const { token, token_id } = await ask("bb_token", { action: "mint", grant: { name: "phone" } });
  assert.equal(typeof token, "string");
  assert.equal((await ask("bb_token", { action: "revoke", token_id }))["success"], true);
  assert.deepEqual((await ask("bb_token", { action: "list" }))["tokens"], []);
  assert.equal((await ask("bb_token", { action: "revoke", token_id }))["success"], false);
  owner.end();
  assert.deepEqual(await owner.done, [0, null]);
});

test("the options of a Hub that a program owns are checked before it starts (OWN-1)", { timeout }, async (t) => {
  const cwd = await folder(t);
  for (const [options, wrong] of [
    [`{"recovery":"wait"}`, `"recovery": "resume" or "end" is needed`],
    [`{"retention":{"event":1}}`, `did you mean "events"?`],
    [`{"budgets":{"u_*":{"turns":-1}}}`, `"budgets.u_*.turns": a number from 0 on is needed`],
    [`{"limits":{}}`, `unknown key "limits"`],
    [`recovery`, "--options takes JSON"],
  ] as const) {
    const { code, err } = await new Cli(t, ["hub", "--stdio", "--options", options], { cwd }).done;
    assert.deepEqual([code === 0, err.includes(wrong)], [false, true], err);
  }
});

test("a Hub that a program owns takes nobody else, and nothing before bb_sync (OWN-1)", { timeout }, async (t) => {
  const owner = new OwnerProgram(t, await folder(t));
  owner.send({ event_type: "bb_components", id: "c_1" });
  assert.equal((await owner.next("bb_error"))["code"], "not_synced");
  owner.send({ event_type: "bb_sync", kind: "ui" });
  const refused = await owner.next("bb_error");
  assert.deepEqual([refused["code"], /"owner":true/.test(String(refused["message"]))], ["forbidden", true]);
  owner.send(SYNC);
  await owner.next("bb_sync_ack");
  owner.send({ event_type: "bb_bye" });
  assert.deepEqual(await owner.done, [0, null]);
});

test("an owner that does not say bb_sync is told, and its Hub ends (CON-2)", { timeout }, async (t) => {
  const cwd = await folder(t);
  const owner = new OwnerProgram(t, cwd);
  assert.equal((await owner.next("bb_error"))["code"], "timeout");
  assert.deepEqual(await owner.done, [0, null]);
});

test("an owner keeps blobs, names them in what it says, and reads them in parts (OWN-2)", { timeout }, async (t) => {
  const owner = new OwnerProgram(t, await folder(t));
  owner.send({ ...SYNC, types: [] });
  await owner.next("bb_sync_ack");
  const scope = "u_7f3a";
  const bytes = Buffer.alloc(500_000, "hello world, ");
  owner.send({ event_type: "bb_blob", id: "b_1", scope, part: 1, last: true, data: "" });
  for (const [part, last] of [
    [0, false],
    [1, true],
  ] as const) {
    const data = bytes.subarray(part * 300_000, (part + 1) * 300_000).toString("base64");
    owner.send({ event_type: "bb_blob", id: "b_2", scope, part, last, data });
  }
  const kept = await owner.next("bb_blob");
  assert.deepEqual([kept["in_reply_to"], kept["size"]], ["b_2", bytes.length]);
  const block = { type: "blob", ref: kept["ref"], mime_type: "text/plain", size: 1 };
  owner.send({ event_type: "user_event", id: "u_1", type: "message", scope: "u_9", content: [block] });
  assert.equal((await owner.next("bb_error"))["code"], "not_found", "a hash alone gets nothing");
  owner.send({ event_type: "user_event", id: "u_2", type: "message", scope, content: [block] });
  assert.equal((await owner.next("bb_ack"))["fate"], "started");
  owner.send({ event_type: "bb_blob", id: "b_3", scope, ref: kept["ref"] });
  const parts: Event[] = [];
  do parts.push(await owner.next("bb_blob"));
  while (parts.at(-1)!["last"] !== true);
  const got = parts.map(({ data }) => Buffer.from(data as string, "base64"));
  assert.ok(parts.length > 1 && Buffer.concat(got).equals(bytes));
  owner.send({ event_type: "bb_blob", scope, ref: kept["ref"] });
  assert.match(String((await owner.next("bb_error"))["message"]), /does not name its blob/);
  owner.end();
  assert.deepEqual(await owner.done, [0, null]);
});
