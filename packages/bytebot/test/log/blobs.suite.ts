import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import type { BlobQuota, BlobStore, StoredBlob } from "../../src/log/index.ts";

/** What every store of blobs does; `open` gives an empty one, and `end` what its test leaves open. */
export function blobSuite(
  name: string,
  open: (quota?: Partial<BlobQuota>) => Promise<{ blobs: BlobStore; end: () => Promise<void> }>,
): void {
  const refOf = (bytes: Uint8Array): string => `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
  async function bytesOf(blob: StoredBlob | undefined): Promise<Buffer> {
    assert.ok(blob);
    const pieces: Uint8Array[] = [];
    for await (const piece of blob.read()) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  async function put(blobs: BlobStore, cell: string, ...pieces: Uint8Array[]): Promise<string> {
    const writer = blobs.create(cell);
    for (const piece of pieces) await writer.write(piece);
    const ref = refOf(Buffer.concat(pieces));
    await writer.commit(ref, "image/png");
    return ref;
  }

  test(`${name}: a blob comes back as it was written, in pieces of any size, also without any (BLB-1)`, async () => {
    const { blobs, end } = await open();
    const pieces = [randomBytes(1), randomBytes(192 * 1024), randomBytes(70_000)];
    const ref = await put(blobs, "u", ...pieces);
    const found = await blobs.find("u", ref);
    assert.deepEqual([found!.ref, found!.size, found!.mimeType], [ref, 1 + 192 * 1024 + 70_000, "image/png"]);
    assert.deepEqual(await bytesOf(found), Buffer.concat(pieces));
    assert.deepEqual(await bytesOf(found), Buffer.concat(pieces), "twice");
    const empty = await blobs.find("u", await put(blobs, "u"));
    assert.equal(empty!.size, 0);
    assert.equal((await bytesOf(empty)).length, 0);
    await end();
  });

  test(`${name}: it is found in its own cell alone, and only when it is whole (BLB-6)`, async () => {
    const { blobs, end } = await open();
    const bytes = Buffer.from("secret");
    const writer = blobs.create("u");
    await writer.write(bytes);
    assert.equal(await blobs.find("u", refOf(bytes)), undefined);
    await writer.commit(refOf(bytes), "text/plain");
    for (const cell of ["v", "u/x", "U", ""]) assert.equal(await blobs.find(cell, refOf(bytes)), undefined, cell);
    assert.deepEqual(await bytesOf(await blobs.find("u", refOf(bytes))), bytes);
    await end();
  });

  test(`${name}: many at once do not mix, and the same one again changes nothing`, async () => {
    const { blobs, end } = await open();
    const all = Array.from({ length: 20 }, (_, n) => Array.from({ length: 5 }, () => randomBytes(n * 100)));
    const refs = await Promise.all(all.map((pieces, n) => put(blobs, `c${n % 3}`, ...pieces)));
    const again = await Promise.all(all.map((pieces, n) => put(blobs, `c${n % 3}`, ...pieces)));
    assert.deepEqual(again, refs);
    for (const [n, pieces] of all.entries())
      assert.deepEqual(await bytesOf(await blobs.find(`c${n % 3}`, refs[n]!)), Buffer.concat(pieces));
    await end();
  });

  test(`${name}: a tenant has its quota and all have theirs; what is given up, or there already, counts no more (BLB-4)`, async () => {
    const { blobs, end } = await open({ tenantBytes: 10_000, totalBytes: 15_000 });
    const writer = blobs.create("t/a");
    await writer.write(randomBytes(9000));
    await assert.rejects(blobs.create("t/b").write(randomBytes(2000)), {
      code: "overloaded",
      message: /this tenant's/,
    });
    await writer.discard();
    const bytes = randomBytes(8000);
    await put(blobs, "t/a", bytes);
    await assert.rejects(put(blobs, "t/b", randomBytes(2000)), { code: "overloaded" });
    await assert.rejects(put(blobs, "o", randomBytes(8000)), { code: "overloaded", message: /all tenants'/ });
    await put(blobs, "o", randomBytes(5000));
    await end();
  });

  test(`${name}: what a cell had is dropped at once, counts no more, and other cells keep theirs (CVS-5)`, async () => {
    const { blobs, end } = await open({ tenantBytes: 20_000, totalBytes: 20_000 });
    const bytes = randomBytes(8000);
    const ref = await put(blobs, "t/a", bytes);
    await put(blobs, "t/b", bytes);
    await assert.rejects(put(blobs, "t/c", randomBytes(8000)), { code: "overloaded" });
    await blobs.drop("t/a");
    await blobs.drop("t/none");
    assert.equal(await blobs.find("t/a", ref), undefined);
    assert.deepEqual(await bytesOf(await blobs.find("t/b", ref)), bytes);
    await put(blobs, "t/c", randomBytes(8000));
    await end();
  });

  test(`${name}: a writer that is given up leaves nothing, also twice, and nothing happens after a commit`, async () => {
    const { blobs, end } = await open();
    const bytes = randomBytes(1000);
    const writer = blobs.create("u");
    await writer.write(bytes);
    await writer.discard();
    await writer.discard();
    assert.equal(await blobs.find("u", refOf(bytes)), undefined);
    const other = blobs.create("u");
    await other.write(bytes);
    await other.commit(refOf(bytes), "text/plain");
    await other.discard();
    assert.deepEqual(await bytesOf(await blobs.find("u", refOf(bytes))), bytes);
    await end();
  });
}
