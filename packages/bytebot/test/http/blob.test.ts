import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { Peer, served } from "./client.ts";

function refOf(bytes: Uint8Array): string {
  return `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
}

suite("blobs over HTTP", () => {
  test("a large picture is put whole, named in a message, and got back, within its scope alone (BLB-9)", async (t) => {
    const { hub, url } = await served(t);
    const bytes = randomBytes(5 * 1024 * 1024);
    const ref = refOf(bytes);
    const of = async (name: string, scope: string) => {
      const token = hub.addToken({ name, kind: "ui", scopes: [scope] });
      const peer = Peer.withToken(t, url, token);
      await peer.sync({ kind: "ui" });
      await peer.open();
      return (at: string, init: RequestInit = {}) =>
        fetch(`${url}/blob/${ref}?scope=${encodeURIComponent(at)}`, {
          ...init,
          headers: {
            authorization: `Bearer ${token}`,
            "bytebot-connection": peer.connection!,
            "content-type": "image/png",
          },
        });
    };
    const mine = await of("mine", "u_1");
    const other = await of("other", "u_2");
    const put = await mine("u_1", { method: "PUT", body: bytes });
    assert.deepEqual(
      [put.status, await put.json()],
      [200, { type: "blob", ref, mime_type: "image/png", size: bytes.length }],
    );
    const got = await mine("u_1");
    assert.equal(got.headers.get("content-type"), "image/png");
    assert.equal(got.headers.get("x-content-type-options"), "nosniff");
    assert.ok(bytes.equals(Buffer.from(await got.arrayBuffer())));
    // Whoever knows the hash has nothing by it: the same answer for what is not there and what is behind the wall.
    for (const [ask, scope] of [
      [other, "u_1"],
      [other, "u_2"],
      [mine, "u_2"],
      [mine, "u_1/other"],
    ] as const) {
      const response = await ask(scope);
      const error = (await response.json()) as { code: string };
      assert.deepEqual([response.status, error.code], [404, "not_found"]);
    }
    const wrong = await mine("u_1", { method: "PUT", body: "something else" });
    assert.deepEqual([wrong.status, ((await wrong.json()) as { code: string }).code], [400, "invalid_params"]);
    assert.equal((await mine("u_1", { method: "POST", body: "x" })).status, 405);
  });

  test("a blob over the limit, and one without a connection or a scope, is refused by name (BLB-9)", async (t) => {
    const { hub, url } = await served(t, { limits: { blobBytes: 1024 } });
    const token = hub.addToken({ name: "phone", kind: "ui" });
    const peer = Peer.withToken(t, url, token);
    const bytes = randomBytes(2000);
    const put = async (path: string, headers: Record<string, string>) => {
      const sent = { authorization: `Bearer ${token}`, ...headers };
      const response = await fetch(`${url}${path}`, { method: "PUT", body: bytes, headers: sent });
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    assert.deepEqual(await put(`/blob/${refOf(bytes)}?scope=u_1`, {}), [404, "not_found"]);
    await peer.sync({ kind: "ui" });
    const ours = { "bytebot-connection": peer.connection! };
    assert.deepEqual(await put(`/blob/${refOf(bytes)}`, ours), [400, "invalid_params"]);
    assert.deepEqual(await put(`/blob/${refOf(bytes)}?scope=u_1`, ours), [413, "too_large"]);
  });

  test("a download that nobody reads takes one of its connection's places, and is given up in time (BLB-4, BLB-9)", async (t) => {
    const { hub, url } = await served(t, { limits: { blobTransfers: 1, blobIdleMs: 500 } });
    const token = hub.addToken({ name: "phone", kind: "ui" });
    const peer = Peer.withToken(t, url, token);
    await peer.sync({ kind: "ui" });
    await peer.open();
    // More than the sockets between the two hold.
    const bytes = randomBytes(32 * 1024 * 1024);
    const headers = { authorization: `Bearer ${token}`, "bytebot-connection": peer.connection! };
    const at = `${url}/blob/${refOf(bytes)}?scope=u_1`;
    assert.equal((await fetch(at, { method: "PUT", body: bytes, headers })).status, 200);
    const unread = await fetch(at, { headers });
    const refused = await fetch(at, { headers });
    assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [429, "overloaded"]);
    let again = refused;
    while (again.status === 429) {
      again = await fetch(at, { headers });
      if (again.status === 429) await again.arrayBuffer();
    }
    assert.ok(bytes.equals(Buffer.from(await again.arrayBuffer())), "its place is free");
    await assert.rejects(unread.arrayBuffer(), "what was not read does not come any more");
  });
});
