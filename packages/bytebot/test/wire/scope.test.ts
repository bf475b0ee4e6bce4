import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { cellOf, encloses, encodeSegment, isScope, tenantOf, toScope, within } from "../../src/wire/index.ts";

/** User ids as identity providers and people make them. */
const name = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom("/", "~", ".", "%", "2", "F", "a", "é", "*", " ", "|", "\0"), maxLength: 10 }),
);
const segment = fc.constantFrom("a", "A", "ab", "b", "a.b", "%2F", "x");
const scope = fc
  .tuple(
    segment,
    fc.array(
      fc.oneof(
        segment,
        segment.map((each) => `~${each}`),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([first, rest]) => [first, ...rest].join("/"));

suite("a user id as a segment (SCP-1 to SCP-4)", () => {
  test("never becomes a path, a parent or a child conversation, whatever it holds", () => {
    fc.assert(
      fc.property(name, (id) => {
        const encoded = encodeSegment(id);
        assert.doesNotMatch(encoded, /[/~*\s\0]|^\.{1,2}$/);
        if (encoded.length > 0 && encoded.length <= 128) assert.ok(isScope(encoded), encoded);
        assert.equal(decodeURIComponent(encoded), id.toWellFormed());
      }),
    );
  });

  test("of another user is another segment, and neither encloses the other", () => {
    fc.assert(
      fc.property(name, name, (one, other) => {
        fc.pre(one !== other && one !== "" && other !== "");
        const [a, b] = [encodeSegment(one), encodeSegment(other)];
        assert.notEqual(a, b);
        assert.ok(!encloses(a, b) && !encloses(b, a) && !encloses(a, `${b}/x`));
      }),
    );
  });

  test("that is half a character is refused: repaired, it would be another user's", () => {
    assert.throws(() => toScope("\ud800"), { code: "invalid_params", message: /half a character/ });
  });

  test("of an empty or too long id is refused with the limits", () => {
    for (const bad of [
      "",
      [],
      ["a", ""],
      "x".repeat(129),
      Array<string>(9).fill("a"),
      Array<string>(5).fill("x".repeat(120)),
    ]) {
      assert.throws(() => toScope(bad), { code: "invalid_params", message: /1 to 8 parts/ });
    }
  });

  test("keeps what needs no escape as it is", () => {
    assert.equal(toScope(["auth0|7", "x/y", "~a1", "..", "m@e-x:1.2_3"]), "auth0%7C7/x%2Fy/%7Ea1/%2E%2E/m@e-x:1.2_3");
  });
});

suite("a scope is refused where it is not the one spelling of its path (SCP-1 to SCP-4)", () => {
  const bad = [
    "",
    "/",
    "a/",
    "/a",
    "a//b",
    ".",
    "..",
    "a/..",
    "a/./b",
    "*",
    "a/*",
    "~a",
    "a/~",
    "a/~~b",
    "a/b~",
    "a b",
    "a\n",
    "a\0",
    "é",
    "а",
    "a%2f",
    "%61",
    "a%2E",
    "%",
    "%2",
    "%zz",
    "%FF",
    "a\\b",
    "a|b",
    "a?b",
    "a#b",
    "/etc",
    "a".repeat(129),
    Array(9).fill("a").join("/"),
    Array(5).fill("a".repeat(110)).join("/"),
  ];
  for (const text of bad) test(JSON.stringify(text.slice(0, 40)), () => assert.equal(isScope(text), false));
  test("what is no text", () =>
    assert.deepEqual([undefined, null, 7, ["a"], {}].map(isScope), [false, false, false, false, false]));
  for (const text of [
    "a",
    "u_7f3a/c_2/~a1",
    "a/~b/~c",
    "%2F",
    "%C3%A9",
    "a@b:c-d.e_f",
    "...",
    "%2E%2E",
    "a".repeat(128),
    Array(8).fill("a").join("/"),
    `${Array(4).fill("a".repeat(127)).join("/")}`.padEnd(512, "a"),
  ]) {
    test(`but ${text.slice(0, 40)} is one`, () => assert.equal(isScope(text), true));
  }
});

suite("enclosing (SCP-5)", () => {
  test("is a partial order: every scope encloses itself, two that enclose each other are one, and it carries through", () => {
    fc.assert(
      fc.property(scope, scope, scope, (a, b, c) => {
        assert.ok(encloses(a, a));
        if (encloses(a, b) && encloses(b, a)) assert.equal(a, b);
        if (encloses(a, b) && encloses(b, c)) assert.ok(encloses(a, c));
      }),
    );
  });

  test("holds for a scope and whatever lies below it, and never across tenants", () => {
    fc.assert(
      fc.property(scope, scope, (a, b) => {
        assert.ok(encloses(a, `${a}/${b}`));
        if (tenantOf(a) !== tenantOf(b)) assert.ok(!encloses(a, b) && !within([a], b));
        assert.ok(encloses("*", a));
        assert.ok(encloses(tenantOf(a), a) && encloses(tenantOf(a), cellOf(a)) && encloses(cellOf(a), a));
      }),
    );
  });

  test("is that the one's segments begin the other's, whatever text they are", () => {
    const any = fc.string({ unit: fc.constantFrom("/", "a", "b", "~"), maxLength: 6 });
    fc.assert(
      fc.property(any, any, (outer, inner) => {
        const begin = inner.split("/").slice(0, outer.split("/").length);
        assert.equal(encloses(outer, inner), begin.join("/") === outer);
      }),
      { numRuns: 2000 },
    );
  });

  test("goes by whole segments: what only begins alike, or looks alike, is outside", () => {
    for (const [outer, inner] of [
      ["a", "ab"],
      ["a/b", "a/bc"],
      ["a/b", "a"],
      ["a", "A"],
      ["a", "a.b"],
      ["a", "%61"],
      ["a/~b", "a/b"],
      ["a", "*"],
      ["a", "b/a"],
    ]) {
      assert.equal(encloses(outer!, inner!), false, `${outer} and ${inner}`);
    }
    assert.equal(within([], "a"), false);
    assert.equal(within(["b", "a/x"], "a/x/y"), true);
  });

  test("a cell ends before its first child conversation, a tenant after its first segment (SCP-6)", () => {
    assert.deepEqual(["a", "a/b", "a/~b/c", "a/b/~c/~d"].map(cellOf), ["a", "a/b", "a", "a/b"]);
    assert.deepEqual(["a", "a/b", "a/~b"].map(tenantOf), ["a", "a", "a"]);
  });
});
