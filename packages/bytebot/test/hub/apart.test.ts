import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { covers, prefixesOf, type Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

const namesIn = (request: Event): unknown[] =>
  ((request["tools"] as { name: string }[] | undefined) ?? []).map(({ name }) => name);
const modelNames = (source: Peer): unknown[] =>
  (source.last("bb_tool_register_result")["tools"] as { model_name: string }[]).map(({ model_name }) => model_name);

/** What the model is offered in this scope now. */
async function offered(world: World, infer: Peer, scope: string): Promise<Event> {
  const owner = await world.join("ui", { name: `asks ${world.clock.now()}`, primary: false, controller: false });
  await owner.send(message("go", scope));
  const request = infer.last("bb_infer_request");
  await infer.send(inferResult(request));
  await owner.link.close("done");
  await world.pass(1);
  return request;
}

test("tools of two tenants may have one name: each keeps it, and neither registration knows of the other (TOL-1, TOL-3, SCP-7)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const acme = await world.join("toolsource", { name: "acme-tools", scopes: ["acme"] });
  const globex = await world.join("toolsource", { name: "globex-tools", scopes: ["globex/x"] });
  await acme.send(register("read", "globex-tools_read"));
  await globex.send(register("read"));
  assert.deepEqual([modelNames(acme), modelNames(globex)], [["read", "globex-tools_read"], ["read"]]);
  assert.deepEqual(namesIn(await offered(world, infer, "globex/x")), ["read"]);
  assert.deepEqual(namesIn(await offered(world, infer, "acme/a")), ["globex-tools_read", "read"]);
  const ui = await world.join("ui");
  await ui.send(message("go", "globex/x/1"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  assert.equal(acme.all("bb_tool_call_request").length, 0);
  await globex.send(toolResult(globex.last("bb_tool_call_request"), "x"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("what serves all has its name whoever came first; a tenant's tool gives way in its own scope alone, and names stay when others leave (TOL-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const acme = await world.join("toolsource", { name: "mine", scopes: ["acme"] });
  await acme.send(register("read"));
  assert.deepEqual(namesIn(await offered(world, infer, "acme")), ["read"]);
  const all = await world.join("toolsource", { name: "all" });
  await all.send(register("read"));
  assert.deepEqual(modelNames(all), ["read"]);
  assert.deepEqual(namesIn(await offered(world, infer, "acme")), ["mine_read", "read"]);
  assert.deepEqual(namesIn(await offered(world, infer, "globex")), ["read"]);
  const second = await world.join("toolsource", { name: "second", scopes: ["acme"] });
  await second.send(register("read"));
  const before = JSON.stringify((await offered(world, infer, "acme"))["tools"]);
  assert.equal(JSON.stringify((await offered(world, infer, "acme"))["tools"]), before, "the same bytes every turn");
  world.hub.forget("all");
  world.hub.forget("mine");
  assert.deepEqual(namesIn(await offered(world, infer, "acme")), ["second_read"], "it is what it was");
  await world.end();
});

test("no names of others keep a tool from having one (TOL-3)", async () => {
  const world = new World();
  const one = await world.join("toolsource", { name: "one" });
  const two = await world.join("toolsource", { name: "two" });
  await one.send(register("read", "two_read"));
  await two.send(register("read", "re.ad", "re/ad"));
  const names = modelNames(two);
  assert.match(String(names[0]), /^two_read_[0-9a-f]{8}$/);
  assert.equal(new Set(names).size, 3);
  await world.end();
});

test("more names than can be kept are refused before any is made (TOL-1)", async () => {
  const world = new World();
  const scopes = Array.from({ length: 64 }, (_, index) => `acme/${index}`);
  const source = await world.join("toolsource", { scopes: ["acme"] }, { scopes });
  await source.send({ ...register(...Array.from({ length: 313 }, (_, index) => `t${index}`)), id: "many" });
  assert.equal(source.last("bb_error")["code"], "too_large");
  await source.send(register("a"));
  assert.deepEqual(modelNames(source), ["a"]);
  await world.end();
});

test("another tenant's primary, controller or context changes nothing here (CON-4, TRN-3)", async () => {
  const world = new World();
  const roles = { primary: true, controller: true };
  const globex = await world.join("ui", { name: "globex", scopes: ["globex"], ...roles });
  const acme = await world.join("ui", { name: "acme", scopes: ["acme"], ...roles });
  const all = await world.join("ui", { name: "all", ...roles });
  const late = await world.join("ui", { name: "late", scopes: ["acme/x"], ...roles });
  const granted = [globex, acme, all, late].map((peer) => {
    const { primary, controller } = peer.last("bb_sync_ack");
    return [primary, controller];
  });
  assert.deepEqual(granted, [...Array.from({ length: 3 }, () => [true, true]), [false, false]]);
  const context = await world.join("context", { name: "c", scopes: ["globex"] });
  world.hub.expectContext("c", ["globex"]);
  await context.link.close("gone");
  const infer = await world.join("infer");
  assert.deepEqual(namesIn(await offered(world, infer, "acme")), [], "without a context, as before");
  await globex.send(message("go", "globex"));
  assert.equal((globex.last("infer_chunk")["error"] as { code: string }).code, "unavailable");
  const asking = await world.join("context", { name: "asking", scopes: ["acme"] });
  await asking.send({ event_type: "bb_input_request", id: "q", scope: "acme/x", prompt: "?", options: ["yes"] });
  assert.deepEqual(
    [acme, all, late].map((ui) => ui.last("input_strict")["primary"]),
    [true, undefined, undefined],
    "one of them",
  );
  await all.send({ event_type: "input_reply", in_reply_to: all.last("input_strict")["id"], outcome: "declined" });
  await world.end();
});

const scopeLists = [
  ["*"],
  ["acme"],
  ["acme/a"],
  ["acme/b"],
  ["globex"],
  ["globex/a"],
  ["acme", "globex"],
  ["globex", "initech"],
  ["initech"],
  ["acme/a", "initech"],
];

interface Move {
  who: number;
  kind: "toolsource" | "ui" | "infer";
  scopes: string[];
  tools: string[] | undefined;
}

const moves = fc.array(
  fc.record({
    who: fc.nat(9),
    kind: fc.constantFrom("toolsource", "toolsource", "ui", "infer"),
    scopes: fc.constantFrom(...scopeLists),
    tools: fc.option(
      fc.uniqueArray(fc.constantFrom("read", "re.ad", "c1_read", "c2_read", "c3_read", "find"), { maxLength: 4 }),
      {
        nil: undefined,
      },
    ),
  }),
  { maxLength: 20 },
) as fc.Arbitrary<Move[]>;

/** Who is in which place through all of a run: its first move says. */
const castOf = (all: readonly Move[]): Map<number, Move> => new Map([...all].reverse().map((move) => [move.who, move]));

/** May the two scopes' components meet in `tenant`? */
const serves = (scopes: readonly string[], tenant: string): boolean =>
  scopes.some((scope) => prefixesOf(scope).includes(tenant) || covers([scope], [tenant]));

/** All that a tenant observes of a run in which those take part that pass: its own components' answers, and what the models are offered. */
async function observed(all: readonly Move[], tenant: string, others: boolean): Promise<string> {
  const world = new World();
  const cast = castOf(all);
  const peers = new Map<number, Peer>();
  const result: unknown[] = [];
  const model = await world.join("infer", { name: "model", scopes: ["*"], primary: true });
  for (const { who, tools } of all) {
    const { kind, scopes } = cast.get(who)!;
    if (!others && !serves(scopes, tenant)) continue;
    const peer = peers.get(who) ?? (await world.join(kind, { name: `c${who}`, scopes }));
    if (tools && kind === "toolsource") await peer.send({ ...register(...tools), id: "reg" });
    else if (peers.delete(who)) {
      await peer.link.close("it leaves");
      world.hub.forget(`c${who}`);
    }
    if (tools || kind !== "toolsource") peers.set(who, peer);
    await world.settle();
    const isOwn = scopes.every((scope) => prefixesOf(scope).includes(tenant));
    if (isOwn) {
      const answers = peer.got.filter(({ event_type }) =>
        /^bb_(sync_ack|tool_register_result|error)$/.test(event_type),
      );
      result.push(
        who,
        answers.map((event) => ({ ...event, ts: 0 })),
      );
    }
  }
  await world.pass(40_000);
  for (const scope of [tenant, `${tenant}/a`, `${tenant}/b/c`]) {
    for (const peer of [model, ...peers.values()]) {
      peer.react = (event) => {
        if (event.event_type === "bb_infer_request") peer.link.send(inferResult(event));
      };
    }
    const ui = await world.join("ui", { name: "asks", scopes: [tenant], primary: false });
    await ui.send(message("go", scope));
    const by = [model, ...peers.values()]
      .map((peer) => peer.all("bb_infer_request").at(-1))
      .filter((event) => event?.["scope"] === scope);
    result.push(
      by.map((event) => event?.["tools"]),
      ui.last("infer_chunk")["stop_reason"],
    );
    await ui.link.close("done");
    await world.settle();
  }
  await world.end();
  return JSON.stringify(result);
}

test("property: all that a tenant observes is the same, byte for byte, with and without the components of others (TOL-1, TOL-3, TOL-4, CON-4, SCP-7)", async () => {
  await fc.assert(
    fc.asyncProperty(moves, fc.constantFrom("acme", "globex", "initech"), async (all, tenant) => {
      assert.equal(await observed(all, tenant, true), await observed(all, tenant, false));
    }),
    { numRuns: 60 },
  );
});
