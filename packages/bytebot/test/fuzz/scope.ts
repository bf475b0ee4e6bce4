import assert from "node:assert/strict";
import {
  BytebotError,
  cellOf,
  encloses,
  encodeSegment,
  isScope,
  tenantOf,
  toScope,
  within,
} from "../../src/wire/index.ts";
import type { Random, Target } from "./random.ts";

const parts = ["a", "b", "A", "/", "~", ".", "..", "%", "%2F", "%2f", "%C3%A9", "%FF", "é", " ", "\0", "*", "@", ":", "-", "_", "\ud800", "😀", "x".repeat(127)]; // prettier-ignore

const text = (random: Random): string => random.some(10, () => random.pick(parts)).join("");

/** Random texts as scopes and as segments: one spelling for each path, and no way across the wall. */
export const scope: Target = (random) => {
  const [a, b] = [text(random), text(random)];
  if (isScope(a)) {
    const segments = a.split("/");
    assert.ok(a.length <= 512 && segments.length <= 8 && !/[^A-Za-z0-9._@:%/~-]/.test(a), a);
    assert.ok(
      segments.every((segment) => segment !== "" && segment !== "." && segment !== ".."),
      a,
    );
    assert.ok(isScope(tenantOf(a)) && isScope(cellOf(a)), a);
    assert.ok(encloses(a, a) && encloses(tenantOf(a), cellOf(a)) && encloses(cellOf(a), a) && encloses("*", a), a);
    assert.equal(
      segments
        .map(
          (segment) =>
            (segment.startsWith("~") ? "~" : "") + encodeSegment(decodeURIComponent(segment.replace(/^~/, ""))),
        )
        .join("/"),
      a,
      "its one spelling",
    );
  }
  if (isScope(a) && isScope(b)) {
    assert.equal(encloses(a, b), `${b}/`.startsWith(`${a}/`), `${a} and ${b}`);
    assert.equal(within([a], b), encloses(a, b));
    if (tenantOf(a) !== tenantOf(b)) assert.ok(!encloses(a, b) && !encloses(b, a));
  }
  const made = scopeOf([a, b]);
  if (made === undefined) return;
  assert.ok(isScope(made));
  assert.deepEqual(made.split("/").map(decodeURIComponent), [a, b], "a user id is never a path");
};

function scopeOf(segments: string[]): string | undefined {
  try {
    return toScope(segments);
  } catch (error) {
    assert.ok(error instanceof BytebotError && error.code === "invalid_params", String(error));
    return undefined;
  }
}
