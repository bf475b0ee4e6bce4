import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toOffer } from "../../src/app/credentials.ts";
import { grantFrom, toAppGrant } from "../../src/app/minting.ts";
import { OWNER, Tokens } from "../../src/app/tokens.ts";
import { narrow, offer, type Grant } from "../../src/hub/index.ts";
import { BytebotError, kinds, TokenGrant, type Kind } from "../../src/wire/index.ts";

const SCOPES = ["*", "u", "u/a", "u/a/x", "u2", "v", "v/b", "U"];
const PEOPLE = ["kim", "jo"];

/** Who may make tokens at all: whatever its offer was, and whatever of it is left after its bb_sync. */
const makers = fc
  .record({
    kind: fc.constantFrom<Kind>("ui", "context"),
    scopes: fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 3 }),
    primary: fc.boolean(),
    inputCapable: fc.boolean(),
    content: fc.boolean(),
    vouches: fc.boolean(),
    principal: fc.option(fc.constantFrom(...PEOPLE), { nil: undefined }),
    taken: fc.boolean(),
  })
  .map(({ taken, ...fields }): Grant => {
    const from = offer({ componentId: "maker", name: "maker", controller: true, ...fields });
    const roles = { primary: false, controller: taken };
    return narrow(from, { event_type: "bb_sync", kind: fields.kind }, fields.scopes, roles);
  });

const flag = fc.option(fc.boolean(), { nil: undefined });
const wishes = fc
  .record({
    kind: fc.option(fc.constantFrom(...kinds), { nil: undefined }),
    scopes: fc.option(fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 3 }), { nil: undefined }),
    principal: fc.option(fc.constantFrom(...PEOPLE), { nil: undefined }),
    ...{ vouches: flag, primary: flag, controller: flag, input_capable: flag, content: flag },
  })
  .map((wish) => TokenGrant.parse(JSON.parse(JSON.stringify(wish))));

const touches = (scopes: readonly string[], scope: string): boolean =>
  scopes.some((granted) => granted === "*" || `${scope}/`.startsWith(`${granted}/`));

test("whoever makes a token, and whatever is asked for: its bearer can be nothing that its maker is not (TOK-1)", () => {
  let made = 0;
  fc.assert(
    fc.property(makers, wishes, (maker, wish) => {
      let granted: TokenGrant;
      try {
        granted = grantFrom(maker, wish);
      } catch (error) {
        assert.ok(error instanceof BytebotError && error.code === "forbidden");
        assert.match(
          error.message,
          /never wider than its maker: "(kind|scopes|principal|vouches|primary|controller|input_capable|content)"/,
        );
        return;
      }
      made++;
      const { kind } = granted;
      assert.ok(kind !== undefined && [maker.kind, "ui", "telemetry"].includes(kind));
      const from = toOffer("bearer", toAppGrant(granted));
      const roles = { primary: false, controller: false };
      const bearer = narrow(from, { event_type: "bb_sync", kind }, from.scopes, roles);
      for (const scope of ["u", "u/a", "u/a/x", "u/b", "u2", "v", "v/b", "w", "U"])
        assert.ok(!touches(bearer.scopes, scope) || touches(maker.scopes, scope), scope);
      assert.ok(!bearer.scopes.includes("*") || maker.scopes.includes("*"));
      assert.ok(!bearer.primary || maker.primary);
      assert.ok(!bearer.inputCapable || maker.inputCapable);
      assert.ok(!bearer.content || maker.content);
      assert.ok(!bearer.vouches || maker.vouches);
      assert.ok(!bearer.owner);
      assert.ok(bearer.principal === maker.principal || maker.vouches);
    }),
    { numRuns: 5000 },
  );
  assert.ok(made > 300, `${made} were made`);
});

test("whoever makes tokens with the tokens that it has made takes no more room than with its own alone (TOK-1, SCP-7)", () => {
  const tokens = new Tokens();
  const mint = (madeBy: string, parent?: string): string =>
    tokens.mint({ grant: {}, madeBy, madeAt: 0, ...(parent === undefined ? {} : { parent }) }).id;
  const idOf = (token: string): string => tokens.idOf(tokens.find(token)!)!;
  const full = { code: "overloaded" };
  // One that the app's code gave out, one that the app has minted, and a component that was attached.
  const given = idOf(tokens.add({ name: "desk" }, false));
  const own = mint(OWNER);
  const first: [string, string | undefined][] = [
    ["desk", given],
    ["phone", own],
    ["planner", undefined],
  ];
  for (const [madeBy, parent] of first) {
    const children = Array.from({ length: 10 }, () => mint(madeBy, parent));
    for (let n = 10; n < 1000; n++) mint("child", children[n % 10]);
    assert.throws(() => mint("child", children[0]), full);
    assert.throws(() => mint(madeBy, parent), full);
  }
  mint("child", mint("other", idOf(tokens.add({ name: "other" }, false))));
  for (let n = 0; n < 1500; n++) mint(OWNER);
});

test("the app's own tokens may be anything, and what a grant does not say is not given (TOK-1)", () => {
  const sync = { event_type: "bb_sync" as const, kind: "ui" as const, owner: true };
  const owner = narrow(offer({ componentId: "app", name: "app", owner: true }), sync, ["*"], {
    primary: false,
    controller: false,
  });
  assert.deepEqual(grantFrom(owner, { kind: "infer", scopes: ["*"], vouches: true }), {
    kind: "infer",
    scopes: ["*"],
    vouches: true,
  });
  const { primary, controller, content, vouches } = toAppGrant({ name: "x" });
  assert.deepEqual([primary, controller, content, vouches], [false, undefined, undefined, undefined]);
});
