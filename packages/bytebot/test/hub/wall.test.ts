import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { within, type Event } from "../../src/wire/index.ts";
import { sinkAllows } from "../../src/hub/readers.ts";
import { inferResult, message, textChunks, World } from "./world.ts";

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
  const history = (scope: string, before: unknown): unknown => ({
    event_type: "bb_history_request",
    id: "h",
    scope,
    before,
  });
  const cursor = b.last("user_event")["cursor"];
  await a.send(history("tenant-b", cursor) as Event, history("tenant-a", cursor) as Event);
  assert.equal((a.last("bb_history_result")["error"] as { code: string }).code, "cursor_expired");
  const wide = await world.join("ui", { name: "wide", scopes: ["tenant-a"] }, { scopes: ["*"] });
  assert.equal(wide.last("bb_error")["code"], "not_found");
  assert.notEqual(wide.closed, undefined);
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
