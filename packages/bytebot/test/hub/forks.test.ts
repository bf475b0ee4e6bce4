import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryBlobs } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { answering, rename, fork, remove, listed, scopes, ends, shownTo } from "./conversing.ts";
import { goOn, restarted } from "./restart.ts";
import { inferResult, message, textChunks, World } from "./world.ts";

test("a fork has what was said up to there, and both go on by themselves (CVS-4)", async () => {
  const world = new World();
  const infer = await answering(world);
  const ui = await world.join("ui", { scopes: ["u"] });
  await ui.send(message("one", "u/a"));
  await ui.send(message("two", "u/a"));
  const [first] = ends(ui, "u/a");
  await ui.send(fork("u/a", first!["seq"], "u/b"));
  assert.deepEqual(ui.last("bb_fork_result")["to"], "u/b");
  const snapshot = ui.last("bb_snapshot");
  assert.deepEqual(snapshot["forked_from"], { scope: "u/a", seq: first!["seq"] });
  assert.equal(snapshot["scope"], "u/b");
  assert.equal((snapshot["state"] as { messages: unknown[] }).messages.length, 2);
  await ui.send(message("another way", "u/b"));
  assert.deepEqual(
    (shownTo(infer) as { content: Event[] }[]).map(({ content }) => content[0]!["text"]),
    ["one", "after 1", "another way"],
  );
  await ui.send(message("three", "u/a"));
  assert.equal((shownTo(infer) as unknown[]).length, 5);
  const [a, b] = await listed(ui);
  assert.deepEqual([a!["scope"], a!["title"], a!["forked_from"]], ["u/a", "one", undefined]);
  assert.deepEqual([b!["scope"], b!["title"], b!["forked_from"]], ["u/b", "one", snapshot["forked_from"]]);
  await world.end();
});

test("a fork is the same after a restart, to the model and to readers (CVS-4)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui");
  await ui.send(message("one", "u/a"));
  await ui.send(fork("u/a", ends(ui, "u/a")[0]!["seq"], "u/b"));
  await ui.send(remove("u/a"));
  const after = await restarted(world.log);
  await goOn(after);
  const infer = await answering(after);
  const back = await after.join("ui", {}, { resume: "start" });
  const told = back.all("bb_snapshot").find(({ scope }) => scope === "u/b")!;
  assert.deepEqual(told["state"], (ui.last("bb_snapshot") as Event)["state"]);
  await back.send({ event_type: "bb_history_request", id: "h", scope: "u/b" });
  const [page] = back.last("bb_history_result")["events"] as Event[];
  assert.deepEqual([page!.event_type, page!["forked_from"]], ["bb_snapshot", told["forked_from"]]);
  // A fork may be forked where it began.
  await back.send(fork("u/b", told["seq"], "u/c"));
  await back.send(message("on", "u/c"));
  assert.equal((shownTo(infer) as unknown[]).length, 3);
  await after.end();
  await world.end({ finished: false });
});

test("a fork has no input that waited, and can be taken while a later turn runs (CVS-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("one", "u/a"), message("two", "u/a"), message("three", "u/a", { mode: "steer" }));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "said"), inferResult(request));
  await ui.send(fork("u/a", ends(ui, "u/a")[0]!["seq"], "u/b"));
  const { messages } = ui.last("bb_snapshot")["state"] as { messages: { content: Event[] }[] };
  assert.deepEqual(
    messages.map(({ content }) => content.map(({ text }) => text)),
    [["one"], ["said"]],
  );
  await ui.send({ event_type: "interrupt", scope: "u/a" });
  await world.pass(2000);
  await world.end();
});

test("a fork from where no turn ends, to what is there or behind the wall, is refused and changes nothing (CVS-4)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui", { scopes: ["u", "v"] });
  const other = await world.join("ui", { name: "other", scopes: ["u"] });
  await ui.send(message("one", "u/a"));
  await ui.send(message("else", "u/b"));
  await ui.send(message("child", "u/a/~c"));
  const seq = Number(ends(ui, "u/a")[0]!["seq"]);
  const before = await world.entries();
  await ui.send(
    fork("u/a", seq - 1, "u/n"),
    fork("u/a", 256 * 1000, "u/n", "f2"),
    fork("u/a", ends(ui, "u/a/~c")[0]!["seq"], "u/n", "f3"),
    fork("u/none", seq, "u/n", "f4"),
    fork("u/a", seq, "u/b", "f5"),
    fork("u/a", seq, "u/a", "f6"),
    fork("u/a", seq, "v/n", "f7"),
    fork("u/a", seq, "u/n/~x", "f8"),
    fork("u/a", -1, "u/n", "f9"),
  );
  await world.settle();
  await other.send(fork("u/a", seq, "v/n"));
  const codes = Object.fromEntries(ui.all("bb_error").map(({ in_reply_to, code }) => [in_reply_to, code]));
  assert.deepEqual(codes, {
    f: "invalid_params",
    f2: "not_found",
    f3: "not_found",
    f4: "not_found",
    f5: "conflict",
    f6: "conflict",
    f7: "invalid_params",
    f8: "invalid_params",
    f9: "invalid_event",
  });
  assert.equal(other.last("bb_error")["code"], "not_found");
  assert.equal((await world.entries()).length, before.length);
  assert.deepEqual(scopes(await listed(ui)), ["u/a", "u/b"]);
  await world.end();
});

test("what a fork names of blobs is found in it, also when the other is deleted (CVS-4)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui");
  const data = Buffer.from("a picture").toString("base64");
  await ui.send({ event_type: "bb_blob", id: "p", scope: "u/a", part: 0, last: true, data, mime_type: "image/png" });
  const { ref, size } = ui.last("bb_blob");
  const blob = { type: "blob", ref, mime_type: "image/png", size };
  await ui.send(message("", "u/a", { content: [{ type: "text", text: "look" }, blob] }));
  await ui.send(fork("u/a", ends(ui, "u/a")[0]!["seq"], "u/b"));
  await ui.send(remove("u/a"));
  await ui.send(
    { event_type: "bb_blob", id: "g", scope: "u/b", ref },
    { event_type: "bb_blob", id: "g2", scope: "u/a", ref },
  );
  await world.settle();
  assert.equal(ui.last("bb_blob")["data"], data);
  assert.deepEqual([ui.last("bb_error")["in_reply_to"], ui.last("bb_error")["code"]], ["g2", "not_found"]);
  await world.end();
});

test("a fork for whose blobs there is no room leaves nothing, and what was put there before stays (CVS-4, BLB-6)", async () => {
  const blobs = new MemoryBlobs({ tenantBytes: 100_000 });
  const world = new World({ blobs });
  await answering(world);
  const ui = await world.join("ui");
  const put = async (id: string, scope: string, bytes: Buffer): Promise<object> => {
    const data = bytes.toString("base64");
    await ui.send({ event_type: "bb_blob", id, scope, part: 0, last: true, data, mime_type: "image/png" });
    const { ref, size } = ui.last("bb_blob");
    return { type: "blob", ref, mime_type: "image/png", size };
  };
  const pictures = [await put("p1", "u/a", Buffer.alloc(10_000, 1)), await put("p2", "u/a", Buffer.alloc(60_000, 2))];
  await ui.send(message("", "u/a", { content: [{ type: "text", text: "look" }, ...pictures] }));
  await put("p3", "u/b", Buffer.from("mine"));
  const { ref } = ui.last("bb_blob");
  const before = blobs.bytes("u");
  await ui.send(fork("u/a", ends(ui, "u/a")[0]!["seq"], "u/b"));
  assert.equal(ui.last("bb_error")["code"], "overloaded");
  assert.equal(blobs.bytes("u"), before);
  await ui.send({ event_type: "bb_blob", id: "g", scope: "u/b", ref });
  assert.equal(ui.last("bb_blob")["data"], Buffer.from("mine").toString("base64"));
  await world.end();
});

test("conversations that have left the memory are listed, renamed, forked and deleted like any other (REC-7, CVS-3)", async () => {
  const world = new World({ limits: { idle: 1 } });
  await answering(world);
  const ui = await world.join("ui");
  for (const name of ["a", "b", "c"]) await ui.send(message(`about ${name}`, `u/${name}`));
  await ui.send(rename("u/a", "first"));
  await ui.send(fork("u/b", ends(ui, "u/b")[0]!["seq"], "u/d"));
  await ui.send(remove("u/c"));
  assert.deepEqual(
    (await listed(ui)).map(({ scope, title }) => [scope, title]),
    [
      ["u/d", "about b"],
      ["u/a", "first"],
      ["u/b", "about b"],
    ],
  );
  await world.end();
});

test("a conversation that is deleted while it is forked is not half in the fork, nor are its blobs (CVS-4, CVS-5)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui");
  for (let n = 0; n < 20; n++) await ui.send(message(`message ${n}`, "u/a"));
  const last = ends(ui, "u/a").at(-1)!["seq"];
  await ui.send(fork("u/a", last, "u/b"), remove("u/a"));
  await world.settle();
  const error = ui.last("bb_error");
  assert.deepEqual([error["in_reply_to"], error["code"]], ["f", "not_found"]);
  assert.deepEqual(await listed(ui), []);
  assert.equal(world.blobs.bytes("u"), 0);
  await world.end();
});

test("two forks into one scope at once: one is there, the other is refused (CVS-4)", async () => {
  const world = new World();
  await answering(world);
  const [one, two] = [await world.join("ui", { name: "one" }), await world.join("ui", { name: "two" })];
  await one.send(message("hello", "u/a"));
  const at = ends(one, "u/a")[0]!["seq"];
  one.link.send(fork("u/a", at, "u/b"));
  await two.send(fork("u/a", at, "u/b"));
  await world.settle();
  assert.equal(one.all("bb_fork_result").length + two.all("bb_fork_result").length, 1);
  assert.deepEqual(
    [...one.all("bb_error"), ...two.all("bb_error")].map(({ code }) => code),
    ["conflict"],
  );
  await world.end();
});

test("a fork whose blobs the tenant has no room for leaves nothing (CVS-4, BLB-4)", async () => {
  const blobs = new MemoryBlobs({ tenantBytes: 10_000 });
  const world = new World({ blobs });
  await answering(world);
  const ui = await world.join("ui");
  const data = Buffer.alloc(6000).toString("base64");
  await ui.send({ event_type: "bb_blob", id: "p", scope: "u/a", part: 0, last: true, data });
  const { ref, size } = ui.last("bb_blob");
  const blob = { type: "blob", ref, mime_type: "application/octet-stream", size };
  await ui.send(message("", "u/a", { content: [{ type: "text", text: "look" }, blob] }));
  const before = blobs.bytes("u");
  await ui.send(fork("u/a", ends(ui, "u/a")[0]!["seq"], "u/b"));
  await world.settle();
  assert.equal(ui.last("bb_error")["code"], "overloaded");
  assert.equal(blobs.bytes("u"), before);
  assert.deepEqual(scopes(await listed(ui)), ["u/a"]);
  await world.end();
});
