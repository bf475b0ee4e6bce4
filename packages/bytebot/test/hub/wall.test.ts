import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { within } from "../../src/wire/index.ts";
import { sinkAllows } from "../../src/hub/readers.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

test("a UI of one scope cannot reach another by any spelling, and the other receives nothing (SCP-7, hard case 36)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const a = await world.join("ui", { name: "a", scopes: ["tenant-a"] });
  const b = await world.join("ui", { name: "b", scopes: ["tenant-b"] });
  await b.send(message("mine", "tenant-b", { id: "m1" }));
  const before = b.got.length;
  const tries = [
    "tenant-b",
    "tenant-b/x",
    "tenant",
    "tenant-a2",
    "TENANT-A",
    "*",
    "/",
    "..",
    "",
    "tenant-a/..",
    "tenant-a/../tenant-b",
    "tenant-a//x",
    "tenant-а",
    "tenant-%61",
    "~tenant-a",
    "tenant-a/.",
    "tenant-a\u200b",
  ];
  for (const scope of tries) {
    for (const event of [
      message("let me in", scope),
      { event_type: "interrupt", scope },
      { event_type: "bb_history_request", id: "h", scope },
      { event_type: "x.y/z", scope },
    ]) {
      await a.send(event);
      assert.match(String(a.last("bb_error")["code"]), /^(not_found|invalid_event)$/, `${event.event_type} ${scope}`);
    }
  }
  assert.equal(b.got.length, before, "not one event reached the other side");
  const [behind, nowhere] = ["tenant-b", "tenant-zzz"].map((scope) => ({ event_type: "interrupt", scope }));
  await a.send(behind!);
  const { message: first } = a.last("bb_error");
  await a.send(nowhere!);
  assert.equal(
    String(a.last("bb_error")["message"]).replace("zzz", "b"),
    first,
    "behind the wall and not there look the same",
  );
  assert.equal(
    world.seen.filter((event) => event["message"] === "refused at the wall").length > 0,
    true,
    "it is audited",
  );
  assert.equal(infer.all("bb_cancel").length, 0);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a reply that names another scope than its request is refused (ENV-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui", { scopes: ["u"] });
  const other = await world.join("ui", { name: "other", scopes: ["v"] });
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "to the wrong one").map((chunk) => ({ ...chunk, scope: "v" })));
  assert.equal(infer.last("bb_error")["code"], "invalid_event");
  assert.equal(other.all("infer_chunk").length, 0);
  await infer.send(inferResult(request));
  await world.end();
});

test("a hundred scopes with a canary each through the same satellites: no canary crosses (SCP-7, hard case 37)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const scopes = Array.from({ length: 100 }, (_, index) => `t${index}`);
  const uis = new Map<string, Peer>();
  for (const scope of scopes) uis.set(scope, await world.join("ui", { name: `ui-${scope}`, scopes: [scope] }));
  for (const [scope, ui] of uis) ui.link.send(message(`canary-${scope}-`, scope));
  await world.settle();
  for (const request of infer.all("bb_infer_request"))
    infer.link.send(toolChunks(request, "read", { path: `canary-${String(request["scope"])}-` })[0]!);
  for (const request of infer.all("bb_infer_request"))
    for (const chunk of toolChunks(request, "read", { path: `canary-${String(request["scope"])}-` }).slice(1))
      infer.link.send(chunk);
  for (const request of infer.all("bb_infer_request")) infer.link.send(inferResult(request, "tool_use"));
  await world.settle();
  for (const call of tools.all("bb_tool_call_request").toReversed())
    tools.link.send(toolResult(call, (call["input"] as { path: string }).path));
  await world.settle();
  for (const request of infer.all("bb_infer_request").slice(100)) {
    assert.equal(new Set(JSON.stringify(request["messages"]).match(/canary-t\d+-/g)).size, 1);
    infer.link.send(inferResult(request));
  }
  await world.settle();
  for (const [scope, ui] of uis) {
    const seen = new Set(JSON.stringify(ui.got).match(/canary-t\d+-/g));
    assert.deepEqual([...seen], [`canary-${scope}-`]);
  }
  await world.end();
});

test("the two checks of the wall are written apart and agree on every grant and scope (SCP-7, SCP-8)", () => {
  const segment = fc.stringMatching(/^[a-c~]{1,2}$/);
  const scope = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));
  const granted = fc.array(fc.oneof(scope, fc.constant("*")), { maxLength: 3 });
  fc.assert(
    fc.property(granted, scope, (scopes, at) =>
      assert.equal(within(scopes, at), sinkAllows(scopes, { event_type: "x", scope: at })),
    ),
    { numRuns: 5000 },
  );
});

test("what passes the first check is stopped at the sink, and reported as a fault (SCP-8)", async () => {
  const world = new World();
  const ui = await world.join("ui", { scopes: ["u"] });
  // The first check is taken away: the connection's grant says it may see everything, the sink's copy does not.
  const readers = (world.hub as unknown as { readers: { deliver(to: unknown, event: object): void } }).readers;
  const grant = { kind: "ui", scopes: ["u"], controller: false, owner: false };
  const id = [...(world.hub as unknown as { open: Map<string, unknown> }).open.keys()][0]!;
  readers.deliver({ id, grant }, { event_type: "user_event", scope: "v", text: "not for u" });
  assert.equal(ui.all("user_event").length, 0);
  assert.match(world.reports.join(), /fault: the sink stopped a user_event/);
  world.reports.length = 0;
  await world.end();
});
