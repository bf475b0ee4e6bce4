import assert from "node:assert/strict";
import { readFile, stat, chmod, mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { askApp } from "../../src/app/ask.ts";
import { ByteBot } from "../../src/index.ts";
import type { Event, TokenGrant } from "../../src/wire/index.ts";
import { folder } from "../cli/cli.ts";
import { ask, message, Peer, served } from "./client.ts";

const ofType =
  (type: string) =>
  ({ event_type }: Event): boolean =>
    event_type === type;

async function status(url: string, token: string): Promise<number> {
  const headers = { "content-type": "application/x-ndjson", authorization: `Bearer ${token}` };
  return (await ask(`${url}/inbox`, { method: "POST", headers, body: `{"event_type":"bb_sync","kind":"ui"}` })).status;
}

/** A ui that dialled in and reads its stream. */
async function dialled(t: TestContext, url: string, token: string, sync: object = { kind: "ui" }): Promise<Peer> {
  const peer = Peer.withToken(t, url, token);
  await peer.sync({ ...sync });
  await peer.open();
  return peer;
}

let count = 0;

/** Asks for a token by the wire; what it got. */
async function mint(peer: Peer, fields: Record<string, unknown>): Promise<Event> {
  const id = `k_${++count}`;
  const { lines } = await peer.post({ event_type: "bb_token", id, action: "mint", ...fields });
  if (lines[0]?.event_type === "bb_error") return lines[0];
  return peer.next(({ in_reply_to }) => in_reply_to === id);
}

const code = (answer: Event): unknown => (answer["error"] as { code?: unknown } | undefined)?.code ?? answer["code"];

suite("tokens that are made while the app runs", () => {
  test("its bearer is what it says, and what they say is that person's (TOK-1, PRN-2, hard case 36)", async (t) => {
    const { hub, url } = await served(t);
    const grant: TokenGrant = { name: "phone", kind: "ui", scopes: ["u"], principal: "kim" };
    const { token, tokenId } = await hub.mintToken(grant);
    const phone = Peer.withToken(t, url, token);
    const ack = await phone.sync({ kind: "ui", principal: "root", scopes: ["u"] });
    assert.deepEqual(
      [ack["component_id"], ack["scopes"], ack["principal"], ack["primary"], ack["controller"]],
      ["phone", ["u"], "kim", false, false],
    );
    await phone.open();
    const { lines } = await phone.post([
      message("m_1", "mine", "u"),
      { ...message("m_2", "forged", "u"), principal: "jo" },
      message("m_3", "elsewhere", "v"),
      { event_type: "bb_token", id: "k", action: "mint", grant: { scopes: ["u"] } },
    ]);
    assert.deepEqual(
      lines.map((line) => line["code"] ?? line["fate"]),
      ["started", "forbidden", "not_found", "forbidden"],
    );
    assert.equal((await phone.next(ofType("user_event")))["principal"], "kim");
    assert.equal(await status(url, `${token}x`), 401);
    const listed = await hub.tokens();
    assert.deepEqual(
      listed.map(({ token_id, grant: { principal }, made_by }) => [token_id, principal, made_by]),
      [[tokenId, "kim", "app"]],
    );
    assert.equal(JSON.stringify(listed).includes(token), false);
  });

  test("a token that is revoked is good for nothing, and what came in with it, or with one that it made, is closed (TOK-3)", async (t) => {
    const { hub, url } = await served(t);
    const desk = await hub.mintToken({ name: "desk", kind: "ui", scopes: ["u"], controller: true, vouches: true });
    const maker = await dialled(t, url, desk.token);
    const made = await mint(maker, { grant: { name: "phone", scopes: ["u/c"], principal: "kim" } });
    const phone = await dialled(t, url, String(made["token"]));
    const other = await hub.mintToken({ name: "other", kind: "ui", scopes: ["u"] });
    await hub.revokeToken(desk.tokenId);
    for (const peer of [maker, phone])
      assert.match(String((await peer.next(ofType("bb_bye")))["reason"]), /token was revoked/);
    assert.deepEqual([await status(url, desk.token), await status(url, String(made["token"]))], [401, 401]);
    assert.equal(await status(url, other.token), 200);
    assert.deepEqual(
      (await hub.tokens()).map(({ grant: { name } }) => name),
      ["other"],
    );
    await assert.rejects(hub.revokeToken(desk.tokenId), { code: "not_found" });
  });

  test("a token is over when its time is, and closes what it let in; one that it made is over by then too (TOK-1, TOK-3)", async (t) => {
    const { hub, url } = await served(t);
    const { token } = await hub.mintToken(
      { name: "short", kind: "ui", scopes: ["u"], controller: true },
      { expiresMs: 600 },
    );
    const peer = await dialled(t, url, token);
    const child = await mint(peer, { grant: { name: "child" }, expires_ms: 3_600_000 });
    const [mine] = await hub.tokens();
    assert.equal(child["expires_at"], mine?.expires_at);
    assert.match(String((await peer.next(ofType("bb_bye")))["reason"]), /token is over/);
    assert.deepEqual([await status(url, token), await status(url, String(child["token"]))], [401, 401]);
    assert.deepEqual(await hub.tokens(), []);
  });

  test("a controller makes none that is wider than itself, and sees and revokes its own alone (TOK-1, TOK-3)", async (t) => {
    const { hub, url } = await served(t);
    const wide = await hub.mintToken({ name: "of-the-app", kind: "ui", scopes: ["u"] });
    const first = hub.addToken({ name: "desk", kind: "ui", scopes: ["u"], controller: true, principal: "kim" });
    const peer = await dialled(t, url, first);
    const wider: [Record<string, unknown>, unknown][] = [
      [{ scopes: ["*"] }, "forbidden"],
      [{ scopes: ["u", "v"] }, "forbidden"],
      [{ scopes: ["u2"] }, "forbidden"],
      [{ kind: "infer" }, "forbidden"],
      [{ kind: "toolsource" }, "forbidden"],
      [{ kind: "context" }, "forbidden"],
      [{ principal: "jo" }, "forbidden"],
      [{ vouches: true }, "forbidden"],
      [{ kind: "telemetry", content: true }, "forbidden"],
      [{ scope: "u" }, "invalid_event"],
      [{ owner: true }, "invalid_event"],
    ];
    for (const [grant, expected] of wider)
      assert.equal(code(await mint(peer, { grant })), expected, JSON.stringify(grant));
    assert.equal(code(await mint(peer, {})), "invalid_params");
    const made = await mint(peer, { grant: { name: "phone", scopes: ["u/c"] } });
    await peer.post({ event_type: "bb_token", id: "list", action: "list" });
    const { tokens } = (await peer.next(({ in_reply_to }) => in_reply_to === "list")) as { tokens?: Event[] };
    assert.deepEqual(
      tokens?.map(({ token_id }) => token_id),
      [made["token_id"]],
    );
    assert.deepEqual((tokens?.[0]?.["grant"] as TokenGrant | undefined)?.principal, "kim", "it is its maker's");
    await peer.post({ event_type: "bb_token", id: "theirs", action: "revoke", token_id: wide.tokenId });
    assert.equal(code(await peer.next(({ in_reply_to }) => in_reply_to === "theirs")), "not_found");
    assert.equal(await status(url, wide.token), 200);
  });

  test("who dialled in without the controller's role, or by a browser's session, makes none (TOK-1)", async (t) => {
    const { hub, url } = await served(t);
    const peer = await dialled(t, url, hub.addToken({ name: "phone", kind: "ui", vouches: true }));
    assert.equal(code(await mint(peer, { grant: {} })), "forbidden");
    const response = await ask(`${url}/browser/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: hub.addCode({ name: "page", kind: "ui", controller: true }) }),
    });
    const cookie = String(response.headers["set-cookie"]).split(";")[0]!;
    const page = new Peer(t, `${url}/browser`, { cookie });
    await page.sync({ kind: "ui" });
    await page.open();
    assert.equal(code(await mint(page, { grant: {} })), "forbidden");
  });

  test("whoever asks only for a token leaves the controller's role to one that stays (TOK-1, CON-4)", async (t) => {
    const { hub, url } = await served(t);
    const watch = await dialled(t, url, hub.addToken({ name: "log", kind: "telemetry" }), { kind: "telemetry" });
    const token = hub.addToken({ name: "desk", kind: "ui", controller: true });
    const asked = await askApp({ url, token }, { event_type: "bb_token", action: "mint", grant: { name: "phone" } });
    assert.equal(await status(url, String(asked["token"])), 200);
    const sync = await watch.next((event) => event.event_type === "bb_sync" && event["name"] === "bytebot-token");
    // As it was said there, and somebody comes before it has left.
    const desk = await dialled(t, url, token, { kind: "ui", controller: sync["controller"] });
    const planner = Peer.withToken(t, url, hub.addToken({ name: "planner", kind: "context", controller: true }));
    assert.equal((await planner.sync({ kind: "context" }))["controller"], true);
    assert.equal((await mint(desk, { grant: { name: "other" } }))["success"], true);
    const wide = await mint(desk, { grant: { name: "third", controller: true } });
    assert.equal(wide["success"], true);
  });

  test("no copy of a token is anybody else's: not telemetry's, not the app's own events (TOK-2)", async (t) => {
    const { hub, url } = await served(t);
    const seen: string[] = [];
    const watching = new AbortController();
    const watched = (async () => {
      for await (const event of hub.events("*", { signal: watching.signal })) seen.push(JSON.stringify(event));
    })();
    const log = await dialled(t, url, hub.addToken({ name: "log", kind: "telemetry", content: true }), {
      kind: "telemetry",
    });
    const desk = await dialled(t, url, hub.addToken({ name: "desk", kind: "ui", controller: true }));
    const { token } = await hub.mintToken({ name: "a" });
    const second = String((await mint(desk, { grant: { name: "b" } }))["token"]);
    await log.until(() => log.events.filter(ofType("bb_token_result"))[1]);
    watching.abort();
    await watched;
    assert.equal(seen.filter((line) => line.includes("bb_token_result")).length, 2);
    for (const secret of [token, second])
      assert.equal(log.raw.includes(secret) || seen.some((line) => line.includes(secret)), false);
  });
});

suite("tokens of an app whose log is on disk", () => {
  const timeout = 60_000;

  async function opened(t: TestContext, file: string): Promise<{ hub: ByteBot; url: string }> {
    const hub = await ByteBot.open({ file, report: () => undefined });
    t.after(() => hub.stop());
    await hub.start();
    return { hub, url: await hub.serveHttp() };
  }

  test(
    "are there again after a restart, their digests alone in a file that is the user's own (TOK-2)",
    { timeout },
    async (t) => {
      const file = join(await folder(t, {}), "bytebot.db");
      const before = await opened(t, file);
      const made = await before.hub.mintToken({ name: "phone", kind: "ui", scopes: ["u"], principal: "kim" });
      const gone = await before.hub.mintToken({ name: "gone" });
      await before.hub.revokeToken(gone.tokenId);
      // One that the app's own code gives out, and one that was made with it.
      const own = before.hub.addToken({ name: "desk", kind: "ui", controller: true });
      const made2 = await mint(await dialled(t, before.url, own), { grant: { name: "child" } });
      await before.hub.stop();
      const kept = await readFile(`${file}-tokens`, "utf8");
      for (const { token } of [made, gone, { token: own }, { token: String(made2["token"]) }])
        assert.equal(kept.includes(token), false);
      if (process.platform !== "win32") assert.equal((await stat(`${file}-tokens`)).mode & 0o777, 0o600);
      const after = await opened(t, file);
      const peer = Peer.withToken(t, after.url, made.token);
      assert.equal((await peer.sync({ kind: "ui" }))["principal"], "kim");
      assert.equal(await status(after.url, gone.token), 401);
      assert.equal(await status(after.url, String(made2["token"])), 401, "its maker's is not there");
      after.hub.addToken({ name: "desk", kind: "ui", controller: true }, own);
      assert.equal(await status(after.url, String(made2["token"])), 200, "and now it is");
    },
  );

  test(
    "one whose end cannot be kept has ended, is said so, and can be revoked once more (TOK-3)",
    { timeout },
    async (t) => {
      const file = join(await folder(t, {}), "bytebot.db");
      const before = await opened(t, file);
      const made = await before.hub.mintToken({ name: "phone", kind: "ui", controller: true });
      const phone = await dialled(t, before.url, made.token);
      const child = await mint(phone, { grant: { name: "child" } });
      const own = before.hub.addToken({ name: "desk", kind: "ui", controller: true });
      const desks = await mint(await dialled(t, before.url, own), { grant: { name: "of-desk" } });
      // Nothing is written where a folder stands in the way.
      await mkdir(`${file}-tokens.new`);
      await assert.rejects(before.hub.revokeToken(made.tokenId), {
        code: "unavailable",
        message: /revoke it once more/,
      });
      await assert.rejects(before.hub.removeToken(own), { code: "unavailable" });
      await assert.rejects(before.hub.mintToken({ name: "new" }), {
        code: "unavailable",
        message: /no token was made/,
      });
      assert.match(String((await phone.next(ofType("bb_bye")))["reason"]), /token was revoked/);
      const all = [made.token, String(child["token"]), String(desks["token"])];
      for (const token of all) assert.equal(await status(before.url, token), 401);
      assert.equal((await before.hub.tokens()).length, 3);
      await rmdir(`${file}-tokens.new`);
      await before.hub.revokeToken(made.tokenId);
      assert.deepEqual(await before.hub.tokens(), []);
      await before.hub.stop();
      const after = await opened(t, file);
      after.hub.addToken({ name: "desk", kind: "ui", controller: true }, own);
      for (const token of all) assert.equal(await status(after.url, token), 401);
    },
  );

  test(
    "a file of tokens that others could write, or that is none, is refused with the fix (TOK-2)",
    { timeout },
    async (t) => {
      const file = join(await folder(t, {}), "bytebot.db");
      const before = await opened(t, file);
      await before.hub.mintToken({ name: "phone" });
      await before.hub.stop();
      const starts = async (): Promise<void> => {
        const hub = await ByteBot.open({ file, report: () => undefined });
        try {
          await hub.start();
        } finally {
          await hub.stop();
        }
      };
      if (process.platform !== "win32") {
        await chmod(`${file}-tokens`, 0o620);
        await assert.rejects(starts(), /others could write it.*chmod 600/);
        await chmod(`${file}-tokens`, 0o600);
      }
      for (const text of [
        "",
        "[]",
        `{"schema_version":1,"tokens":[{"digest":"${"0".repeat(64)}","grant":{"scope":"u"},"madeBy":"x","madeAt":1}]}`,
      ]) {
        await writeFile(`${file}-tokens`, text);
        await assert.rejects(starts(), /bytebot\.db-tokens cannot be read/);
      }
    },
  );
});
