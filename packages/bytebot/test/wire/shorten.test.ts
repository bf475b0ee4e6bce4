import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { base64Bytes, beginning, fromBase64, fromText, shorten, sizeOf, type BlobBlock } from "../../src/wire/index.ts";
import type { RawBlock } from "../../src/wire/index.ts";

test("any bytes come back from their base64, whatever its length, and anything else is refused (BLB-3)", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1000 }), (bytes) => {
      const data = Buffer.from(bytes).toString("base64");
      assert.deepEqual(Buffer.concat([...fromBase64(data)]), Buffer.from(bytes));
      assert.equal(base64Bytes(data), bytes.length);
    }),
  );
  const large = Buffer.alloc(2_000_001, "abc");
  assert.deepEqual(Buffer.concat([...fromBase64(large.toString("base64"))]), large);
  for (const data of ["a", "ab", "abc", "a===", "====", "YQ==YQ==", " YQ==", "YQ==\n", "_-8=", "é"]) {
    assert.throws(() => [...fromBase64(data)], { code: "invalid_params" }, JSON.stringify(data));
  }
});

test("text is written and cut at whole characters, at every length (TOL-10, hard case 7)", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.nat(100), (text, bytes) => {
      assert.equal(Buffer.concat([...fromText(text)]).toString(), text);
      const kept = beginning(text, bytes);
      assert.ok(text.startsWith(kept) && kept.isWellFormed() && Buffer.byteLength(kept) <= bytes);
      const point = text.codePointAt(kept.length);
      const next = point === undefined ? undefined : String.fromCodePoint(point);
      assert.ok(next === undefined || Buffer.byteLength(kept + next) > bytes, "no character that fits is left out");
    }),
  );
  const long = "x" + "😀".repeat(400_000);
  assert.equal(Buffer.concat([...fromText(long)]).toString(), long);
});

test("whatever a result holds, what is shown of it is within the limit, and all of its text is kept (TOL-10)", async () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: fc.string({ maxLength: 400 }) }),
    fc.record({
      type: fc.constant("image" as const),
      mime_type: fc.string({ maxLength: 200 }),
      data: fc.oneof(
        fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString("base64")),
        fc.uint8Array({ maxLength: 400 }),
      ),
      junk: fc.string({ maxLength: 300 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(block, { maxLength: 12 }), async (content) => {
      const kept: Buffer[] = [];
      const keep = async ({ size, mimeType, pieces }: Parameters<Parameters<typeof shorten>[2]>[0]) => {
        const bytes = Buffer.concat([...pieces]);
        assert.equal(bytes.length, size, "the size is said beforehand");
        kept.push(bytes);
        return { type: "blob", ref: `sha256-${"0".repeat(64)}`, mime_type: mimeType, size } as BlobBlock;
      };
      const limit = 4000;
      const shown = await shorten(content as RawBlock[], limit, keep);
      assert.ok(sizeOf(shown) <= limit + 1000, `${sizeOf(shown)}`);
      const whole = content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n");
      const texts = shown.flatMap((each) => (each.type === "text" ? [String(each["text"])] : []));
      const isWhole = texts.join("\n") === whole;
      assert.ok(isWhole || kept.some((bytes) => bytes.toString() === Buffer.from(whole).toString()));
    }),
  );
});
