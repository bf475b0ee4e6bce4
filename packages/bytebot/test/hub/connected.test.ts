import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Connected } from "../../src/hub/connected.ts";
import { mayTouch, narrow, offer, type Grant } from "../../src/hub/grants.ts";
import type { Synced } from "../../src/hub/state.ts";
import { covers, kinds } from "../../src/wire/index.ts";

const scope = fc.array(fc.constantFrom("a", "b", "ab", "~c"), { minLength: 1, maxLength: 3 }).map((segments) => {
  const [first = "a", ...rest] = segments;
  return [first.replace("~", ""), ...rest].join("/");
});
const grant = fc.record({
  kind: fc.constantFrom(...kinds),
  scopes: fc.array(fc.oneof(scope, fc.constant("*")), { minLength: 1, maxLength: 3 }),
  primary: fc.boolean(),
});

function connection(
  id: number,
  { kind, scopes, primary }: { kind: Grant["kind"]; scopes: string[]; primary: boolean },
) {
  const from = offer({ componentId: `c_${id}`, name: `c${id}` });
  const given = narrow(from, { event_type: "bb_sync", kind }, scopes, { primary: !primary, controller: true });
  return { id, offer: from, grant: given } as unknown as Synced;
}

test("connections are found by scope exactly where the wall lets them touch it, whoever came and left (SCP-7)", () => {
  fc.assert(
    fc.property(
      fc.array(grant, { maxLength: 12 }),
      fc.array(fc.nat(11), { maxLength: 6 }),
      scope,
      (grants, left, at) => {
        const connected = new Connected();
        const all = grants.map((each, id) => connection(id, each));
        for (const each of all) connected.add(each);
        const gone = new Set(left);
        for (const id of gone) if (all[id]) connected.remove(all[id]);
        const there = all.filter(({ id }) => !gone.has(Number(id)));

        assert.deepEqual(connected.all(), there);
        const uis = there.filter((each) => each.grant.kind === "ui" && mayTouch(each, at));
        assert.deepEqual(new Set(connected.uisOver(at)), new Set(uis));
        assert.equal([...connected.uisOver(at)].length, uis.length);
        assert.equal(
          connected.primaryUi(at),
          uis.find((each) => each.grant.primary),
        );
        const holders = there.filter((each) => each.grant.primary && covers(each.grant.scopes, [at]));
        assert.deepEqual(new Set(connected.holdersOver([at])), new Set(holders));
        for (const kind of kinds)
          assert.equal(connected.count(kind), there.filter((e) => e.grant.kind === kind).length);
      },
    ),
    { numRuns: 300 },
  );
});
