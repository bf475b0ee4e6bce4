import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { ByteBot } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";

const tokens: [string, RegExp][] = [
  ["my long secret", /character 3 is a space \(U\+0020\)/],
  ["secret\r\n", /character 7 is a carriage return \(U\+000D\)/],
  ["geheïm", /character 5 is U\+00EF/],
  ["k\u{1f511}", /character 2 is U\+1F511/],
  ["x".repeat(513), /it is 513 characters long/],
];

const idle: bb.Main = async () => {
  await (await bb.sync({ kind: "infer" })).start();
};

/** What it says at once, of whom, and never the token. */
async function refuses(name: string, started: () => unknown, token: string, why: RegExp): Promise<void> {
  await assert.rejects(
    async () => started(),
    (error: bb.BytebotError) => {
      assert.equal(error.code, "invalid_params");
      assert.ok(error.message.startsWith(`${name} is no token: `), error.message);
      assert.match(error.message, why);
      assert.ok(!error.message.includes(token));
      return true;
    },
  );
}

function set(t: TestContext, token: string): void {
  const before = process.env["BYTEBOT_TOKEN"];
  process.env["BYTEBOT_TOKEN"] = token;
  t.after(() => {
    if (before === undefined) delete process.env["BYTEBOT_TOKEN"];
    else process.env["BYTEBOT_TOKEN"] = before;
  });
}

suite("a token that no header carries", () => {
  test("is refused by its name on both sides, where it was chosen (HTP-11)", async (t) => {
    await using hub = new ByteBot({ report: () => undefined });
    await hub.start();
    for (const [token, why] of tokens) {
      const refused = (name: string, started: () => unknown) => refuses(name, started, token, why);
      await refused("the token", () => hub.addToken({ name: "" }, token));
      await refused(`the token of "phone"`, () => hub.addToken({ name: "phone" }, token));
      await refused(`the option "token"`, () => bb.serveHttp(idle, { token }));
      await refused(`the option "token"`, () => bb.dialHttp(idle, { url: "http://127.0.0.1:9", token }));
      const attached = { ref: "http://127.0.0.1:9", kind: "infer" } as const;
      await refused(`the component's "token"`, () => hub.attach({ ...attached, token }).ready);
      set(t, token);
      await refused("BYTEBOT_TOKEN", () => bb.serveHttp(idle));
      await refused("BYTEBOT_TOKEN", () => bb.dialHttp(idle, { url: "http://127.0.0.1:9" }));
      await refused("BYTEBOT_TOKEN", () => hub.attach(attached).ready);
    }
    assert.throws(() => hub.addToken({ name: "" }, ""), { code: "invalid_params", message: /an empty token is none/ });
  });

  test("and the longest that one carries is taken (HTP-11)", async (t) => {
    await using hub = new ByteBot({ report: () => undefined });
    await hub.start();
    const token = "~!".repeat(256);
    await using serving = await bb.serveHttp(idle, { token });
    await hub.attach({ ref: serving.url, kind: "infer", token }).ready;
    hub.addToken({ name: "guest" }, token);
    const main: bb.Main = async () => (await bb.sync({ kind: "ui" })).close();
    await bb.dialHttp(main, { url: await hub.serveHttp(), token, signal: t.signal });
  });
});
