import assert from "node:assert/strict";
import { test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { isController, mayTouch, narrow, type Grant, type Offer } from "../../src/hub/grants.ts";
import type { Sync } from "../../src/wire/index.ts";

const free = { primary: false, controller: false };
const granted = (from: Partial<Offer>, sync: Partial<Sync> = {}, taken: Partial<typeof free> = {}): Grant =>
  narrow(offer({ componentId: "c", name: "c", ...from }), { event_type: "bb_sync", kind: "ui", ...sync }, ["u"], {
    ...free,
    ...taken,
  });

test("a role is granted only where it is offered, not declined, and nobody else has it (CON-3, CON-4)", () => {
  const roles = ({ primary, controller, inputCapable, owner }: Grant) => [primary, controller, inputCapable, owner];
  assert.deepEqual(roles(granted({})), [true, true, true, false]);
  assert.deepEqual(roles(granted({ primary: false, controller: false, inputCapable: false })), [
    false,
    false,
    false,
    false,
  ]);
  assert.deepEqual(roles(granted({}, { primary: false, controller: false, input_capable: false })), [
    false,
    false,
    false,
    false,
  ]);
  assert.deepEqual(roles(granted({}, { primary: true, controller: true, input_capable: true }, { primary: true })), [
    false,
    true,
    true,
    false,
  ]);
  assert.deepEqual(roles(granted({}, {}, { controller: true })), [true, false, true, false]);
});

test("each kind has the roles of its kind alone: a ui or a context controls, a ui takes input (CON-4)", () => {
  const kinds = ["ui", "context", "infer", "toolsource", "telemetry"] as const;
  assert.deepEqual(
    kinds.map((kind) => [
      granted({}, { kind }).controller,
      granted({}, { kind }).inputCapable,
      granted({}, { kind }).kind,
    ]),
    [
      [true, true, "ui"],
      [true, false, "context"],
      [false, false, "infer"],
      [false, false, "toolsource"],
      [false, false, "telemetry"],
    ],
  );
});

test("an owner is one that is offered it and says so, and takes no controller's place (CON-4)", () => {
  const owns = (from: Partial<Offer>, sync: Partial<Sync>) => [
    granted(from, sync).owner,
    granted(from, sync).controller,
  ];
  assert.deepEqual(owns({ owner: true }, { owner: true }), [true, false]);
  assert.deepEqual(owns({ owner: true }, {}), [false, true]);
  assert.deepEqual(owns({ owner: true }, { owner: false }), [false, true]);
  assert.deepEqual(owns({}, { owner: true }), [false, true]);
});

test("scopes, types and capabilities are the sync's; content and asking first are the offer's (CON-3, SCP-7)", () => {
  const grant = granted({ content: true, askFirst: true, scopes: ["u"] }, { types: ["a"], capabilities: { x: 1 } });
  assert.deepEqual(
    [grant.content, grant.askFirst, grant.scopes, [...grant.types!], grant.capabilities],
    [true, true, ["u"], ["a"], { x: 1 }],
  );
  const plain = granted({});
  assert.deepEqual([plain.content, plain.askFirst, plain.types, plain.capabilities], [false, false, undefined, {}]);
  assert.deepEqual(offer({ componentId: "c", name: "n" }).scopes, ["*"]);
  assert.ok(mayTouch({ grant }, "u/x"));
  assert.ok(!mayTouch({ grant }, "v"));
});

test("tokens are made by the owner, and by who was offered the controller's role, also while another holds it or where it declines it (TOK-1)", () => {
  const types = ["bb_token", "bb_token_result", "bb_policy", "bb_policy_result"];
  const may = (grant: Grant): boolean[] => types.map((type) => isController(grant, type));
  const [all, tokens, none] = [
    [true, true, true, true],
    [true, true, false, false],
    [false, false, false, false],
  ];
  assert.deepEqual(may(granted({})), all);
  assert.deepEqual(may(granted({ owner: true, controller: false }, { owner: true })), all);
  assert.deepEqual(may(granted({}, {}, { controller: true })), tokens);
  assert.deepEqual(may(granted({ controller: false })), none);
  assert.deepEqual(may(granted({}, { controller: false })), tokens);
  assert.deepEqual(may(granted({}, { kind: "telemetry" })), none);
  assert.deepEqual(may(granted({ owner: true, controller: false })), none, "offered, and not said");
  assert.deepEqual(may(granted({ owner: true }, { owner: true, kind: "telemetry" })), none, "an owner is a ui");
});

test("who its person is, and whether it vouches, is as offered: bb_sync says nothing of it (PRN-2)", () => {
  const person = ({ principal, vouches }: Grant) => [principal, vouches];
  assert.deepEqual(person(granted({})), [undefined, false]);
  assert.deepEqual(person(granted({ principal: "kim", vouches: true })), ["kim", true]);
  assert.deepEqual(person(granted({}, { principal: "kim", vouches: true } as Partial<Sync>)), [undefined, false]);
});
