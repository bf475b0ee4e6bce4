import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isWithin, Policy } from "../../src/hub/tools/policy.ts";
import type { Tool } from "../../src/hub/state.ts";
import { toSchema } from "../../src/hub/tools/schema.ts";
import { encloses, type PolicyRule } from "../../src/wire/index.ts";
import { Glob } from "../../src/hub/tools/glob.ts";
import { inferResult, message, register, toolChunks, toolResult, World } from "./world.ts";

const tool = (name: string, component = "files"): Tool => ({
  definition: { name, input_schema: { type: "object" } },
  componentId: component,
  component,
  hash: `${component}/${name}`,
  schema: toSchema({ type: "object" }, "it"),
});

const decide = (rules: PolicyRule[], input: unknown, more: { component?: string; scope?: string } = {}): string =>
  new Policy(rules).decide({
    tool: tool("write", more.component),
    modelName: "write",
    scope: more.scope ?? "u",
    input,
    askFirst: false,
  }).decision;

const allowed = (input: Record<string, string>): PolicyRule[] => [
  { tool: "*", decision: "deny" },
  { tool: "write", input, decision: "allow" },
];

test("a rule about arguments counts where each of its patterns matches the text at its place, as it is written (POL-5)", () => {
  const within = allowed({ "/path": "/work/*" });
  const cases: [rules: PolicyRule[], input: unknown, expected: string][] = [
    [within, { path: "/work/a" }, "allow"],
    [within, { path: "/etc/a" }, "deny"],
    [within, {}, "deny"],
    [within, { path: ["/work/a"] }, "deny"],
    [within, null, "deny"],
    [within, "path", "deny"],
    // The text as it is: whoever allows by prefixes has to deny this.
    [within, { path: "/work/../etc" }, "allow"],
    [[...within, { tool: "*", input: { "/path": "*..*" }, decision: "deny" }], { path: "/work/../etc" }, "deny"],
    [allowed({ "/a": "1", "/b": "2" }), { a: "1", b: "2" }, "allow"],
    [allowed({ "/a": "1", "/b": "2" }), { a: "1", b: "3" }, "deny"],
    [allowed({ "/list/1/name": "x" }), { list: [{}, { name: "x" }] }, "allow"],
    [allowed({ "/list/01/name": "x" }), { list: [{}, { name: "x" }] }, "deny"],
    [allowed({ "/list/length": "*" }), { list: [1] }, "deny"],
    [allowed({ "/constructor": "*" }), {}, "deny"],
    [allowed({ "/a~1b/c~0d": "x" }), { "a/b": { "c~d": "x" } }, "allow"],
    [allowed({ "/n": "5" }), { n: 5 }, "allow"],
    [allowed({ "/n": "null" }), { n: null }, "allow"],
    [allowed({ "/o": '{"a":[1,true],"b":"é"}' }), { o: { b: "é", a: [1, true] } }, "allow"],
    [allowed({ "": '{"a":1,"b":2}' }), { b: 2, a: 1 }, "allow"],
    [allowed({ "/a": "x*y" }), { a: "x\n/y" }, "allow"],
  ];
  for (const [rules, input, expected] of cases) assert.equal(decide(rules, input), expected, JSON.stringify(input));
});

test("what is too long to be compared is not allowed by it, and does not slip past a rule that denies or asks (POL-5)", () => {
  const long = `rm -rf / ${"#".repeat(20_000)}`;
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
  for (const value of [long, many, [long], { deep: [many] }]) {
    assert.equal(decide([{ tool: "*", input: { "/x": "*rm*" }, decision: "deny" }], { x: value }), "deny");
    assert.equal(decide([{ tool: "*", input: { "/x": "*rm*" }, decision: "ask" }], { x: value }), "deny");
    assert.equal(decide(allowed({ "/x": "*" }), { x: value }), "deny");
    assert.equal(decide([{ tool: "*", input: { "/x": "*rm*", "/y": "no" }, decision: "deny" }], { x: value }), "allow");
  }
});

test("a call whose arguments would take too long to compare by all of the rules is denied by the first that asks or denies (POL-5)", () => {
  const rules = (decision: "allow" | "deny"): PolicyRule[] =>
    Array.from({ length: 200 }, (_, at) => ({ tool: "*", input: { "/x": `*b${at}b*` }, decision }));
  const x = "a".repeat(16 * 1024);
  assert.equal(decide(rules("deny").slice(0, 60), { x }), "allow");
  assert.equal(decide(rules("deny"), { x }), "deny");
  assert.equal(decide([{ tool: "*", decision: "deny" }, ...rules("allow")], { x }), "deny");
  assert.equal(decide([{ tool: "*", decision: "allow" }, ...rules("allow")], { x }), "allow");
});

test("a rule of a component is about what the app calls so, whatever the component calls itself (POL-1)", () => {
  const rules: PolicyRule[] = [
    { tool: "*", decision: "deny" },
    { tool: "*", component: "files", decision: "allow" },
  ];
  assert.equal(decide(rules, {}), "allow");
  assert.equal(decide(rules, {}, { component: "files-2" }), "deny");
});

test("of any rules the last that matches decides, by names and by patterns alike (POL-1)", () => {
  const pattern = fc.constantFrom("write", "files/write", "*", "w*", "files/*", "*e", "other", "read", "x*");
  const rule = fc.record({
    tool: pattern,
    decision: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
  });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 12 }), (rules) => {
      const names = ["write", "files/write"];
      const last = rules.findLast((each) => names.some((name) => new Glob(each.tool).matches(name)));
      assert.equal(decide(rules, {}), last?.decision ?? "allow");
    }),
    { numRuns: 2000 },
  );
});

test("a rule of a scope is about what that encloses, and nothing that looks alike (POL-1, SCP-5)", () => {
  const part = fc.constantFrom("u", "u2", "v", "~a", "U", "u_");
  const scope = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.oneof(scope, fc.constant("*")), scope, (outer, inner) =>
      assert.equal(isWithin(outer, inner), encloses(outer, inner)),
    ),
    { numRuns: 3000 },
  );
});

test("rules of which one cannot be used are refused whole, with the reason, and those before stay (POL-3)", async () => {
  const world = new World({ policy: [{ tool: "*", decision: "deny" }] });
  const desk = await world.join("ui", { name: "desk" }, { controller: true });
  const [infer, tools] = [await world.join("infer"), await world.join("toolsource")];
  await tools.send(register("read"));
  const unusable: [rule: Record<string, unknown>, why: RegExp][] = [
    [{ tool: "*", decision: "allow", inputs: { "/path": "/work/*" } }, /rule 2 .*unknown field "inputs"/],
    [{ tool: "*", decision: "allow", input: {} }, /0 conditions/],
    [{ tool: "*", decision: "allow", input: { path: "x" } }, /"path" is no JSON pointer/],
    [{ tool: "*", decision: "allow", input: { "/~2": "x" } }, /no JSON pointer/],
    [{ tool: "*", decision: "allow", approvers: ["kim"] }, /"approvers" and "remember_ms" are for/],
    [{ tool: "*", decision: "deny", remember_ms: 1 }, /does not ask/],
  ];
  for (const [rule, why] of unusable) {
    await desk.send({ event_type: "bb_policy", id: "p", rules: [{ tool: "*", decision: "allow" }, rule] });
    const { code, message: told, in_reply_to } = desk.last("bb_error");
    assert.deepEqual([code, in_reply_to], ["invalid_params", "p"]);
    assert.match(String(told), why);
  }
  for (const rule of [
    { tool: "*", decision: "maybe" },
    { tool: "*", decision: "ask", approvers: [] },
  ]) {
    await desk.send({ event_type: "bb_policy", id: "p", rules: [rule] });
    assert.equal(desk.last("bb_error")["code"], "invalid_event");
  }
  assert.equal(desk.all("bb_policy_result").length, 0);
  await desk.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  assert.equal(desk.last("tool_result")["status"], "denied", "the rules are as they were");
  await desk.send({
    event_type: "bb_policy",
    id: "q",
    rules: [{ tool: "read", component: "toolsource", input: { "/path": "a" }, decision: "allow" }],
  });
  assert.equal(desk.last("bb_policy_result")["success"], true);
  const next = infer.last("bb_infer_request");
  await infer.send(...toolChunks(next, "read", { path: "a" }), inferResult(next, "tool_use"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "ok"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an app with a rule that cannot be used does not start (POL-3)", () => {
  const rules = [{ tool: "*", decision: "allow", paths: "/work" }] as unknown as PolicyRule[];
  assert.throws(() => new World({ policy: rules }), /rule 1 of the policy: it has an unknown field "paths"/);
});
