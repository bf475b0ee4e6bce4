import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { Event } from "../../src/wire/index.ts";
import { MemoryBlobs, MemoryLog } from "../../src/log/index.ts";
import { goOn, restarted } from "./restart.ts";
import { inferResult, message, textChunks, World, type Peer } from "./world.ts";

/** An infer that answers everything with how many messages it was shown. */
async function answering(world: World): Promise<Peer> {
  const infer = await world.join("infer");
  infer.react = (request) => {
    if (request.event_type !== "bb_infer_request") return;
    const { length } = request["messages"] as unknown[];
    for (const event of [...textChunks(request, `after ${length}`), inferResult(request)]) infer.link.send(event);
  };
  return infer;
}

const list = (more: Record<string, unknown> = {}): Event => ({ event_type: "bb_conversations", id: "v", ...more });
const rename = (scope: string, title: string, id = "r"): Event => ({ event_type: "bb_rename", id, scope, title });
const fork = (scope: string, seq: unknown, to: string, id = "f"): Event => ({
  ...{ event_type: "bb_fork", id, scope, at: seq, to },
});
const remove = (scope: string, id = "d"): Event => ({ event_type: "bb_delete", id, scope });

async function listed(peer: Peer, more: Record<string, unknown> = {}): Promise<Event[]> {
  await peer.send(list(more));
  return peer.last("bb_conversations_result")["conversations"] as Event[];
}

const scopes = (conversations: readonly Event[]): unknown[] => conversations.map(({ scope }) => scope);
const ends = (peer: Peer, scope: string): Event[] =>
  peer.all("infer_chunk").filter((event) => event["kind"] === "loop_done" && event["scope"] === scope);
const shownTo = (infer: Peer): unknown => infer.last("bb_infer_request")["messages"];

test("a list has the conversations with their titles, the newest activity first (CVS-1, CVS-2)", async () => {
  const world = new World();
  const infer = await answering(world);
  const ui = await world.join("ui", { scopes: ["u"] });
  await ui.send(message("\n  first words\nmore", "u/a"));
  await ui.send(message("second", "u/b"));
  await world.pass(1000);
  await ui.send(message("again", "u/a"), message("to a child", "u/b/~x"));
  const [newest, other, ...others] = await listed(ui);
  assert.deepEqual(others, []);
  assert.deepEqual([newest!["scope"], newest!["title"], newest!["state"]], ["u/b", "second", "idle"]);
  assert.deepEqual([other!["scope"], other!["title"]], ["u/a", "first words"]);
  infer.react = () => undefined;
  await ui.send(message("a long one", "u/a"));
  const [busy] = await listed(ui);
  assert.deepEqual([busy!["scope"], busy!["state"]], ["u/a", "running"]);
  await ui.send({ event_type: "interrupt", scope: "u" });
  await world.pass(2000);
  await world.end();
});

test("a list goes page by page, and never beyond the grant (CVS-1)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui", { scopes: ["u"] });
  const other = await world.join("ui", { name: "other", scopes: ["v"] });
  const narrow = await world.join("ui", { name: "narrow", scopes: ["u/c1"] });
  for (let n = 0; n < 5; n++) await ui.send(message(`message ${n}`, `u/c${n}`));
  await other.send(message("of another tenant", "v/c1"));
  const first = await listed(ui, { limit: 2 });
  assert.deepEqual(scopes(first), ["u/c4", "u/c3"]);
  assert.equal(ui.last("bb_conversations_result")["more"], true);
  assert.deepEqual(scopes(await listed(ui, { limit: 2, before: first[1]!["cursor"] })), ["u/c2", "u/c1"]);
  assert.deepEqual(scopes(await listed(ui, { limit: 3, before: (await listed(ui, { limit: 4 }))[3]!["cursor"] })), [
    "u/c0",
  ]);
  assert.equal(ui.last("bb_conversations_result")["more"], false);
  assert.deepEqual(scopes(await listed(narrow)), ["u/c1"]);
  assert.deepEqual(scopes(await listed(other)), ["v/c1"]);
  assert.deepEqual(scopes(await listed(ui, { scope: "u/c2" })), ["u/c2"]);
  await ui.send(list({ scope: "v", id: "behind" }), list({ before: "m0:12", id: "elsewhere" }), list({ limit: 201 }));
  assert.deepEqual(
    ui.all("bb_error").map(({ code }) => code),
    ["not_found", "invalid_event"],
  );
  const refused = ui.last("bb_conversations_result")["error"] as Event;
  assert.equal(refused["code"], "cursor_expired");
  await world.end();
});

test("the first line is cut at a character, and has nothing that a terminal would obey (CVS-2)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui");
  await ui.send(message(`${"🦊".repeat(300)}`, "u/long"));
  await ui.send(message("a\u001b[31mred\u202e\u0007 b", "u/red"));
  await ui.send(message("x".repeat(900_000), "u/wide"));
  await ui.send(message("", "u/image", { content: [{ type: "image", mime_type: "image/png", data: "aGk=" }] }));
  const found = Object.fromEntries((await listed(ui)).map(({ scope, title }) => [scope, title]));
  assert.deepEqual(found, {
    "u/long": "🦊".repeat(200),
    "u/red": "a [31mred   b",
    "u/wide": "x".repeat(200),
    "u/image": undefined,
  });
  await ui.send(message("what is it?", "u/image"));
  assert.equal((await listed(ui))[0]!["title"], "what is it?");
  await world.end();
});

test("a new title reaches every UI of the scope, and is there after a restart (CVS-3)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui");
  const second = await world.join("ui", { name: "second", scopes: ["u/a"] });
  await ui.send(message("hello", "u/a"), rename("u/a", "Trip to Brno 🚋"));
  assert.equal(ui.last("bb_rename_result")["success"], true);
  assert.equal(second.last("conversation_title")["title"], "Trip to Brno 🚋");
  assert.equal(second.last("conversation_title")["from"], "ui");
  assert.ok(second.last("conversation_title")["seq"]);
  await ui.send(message("another line", "u/a"));
  const after = await restarted(world.log);
  await goOn(after);
  const back = await after.join("ui", {}, { resume: "start" });
  assert.equal((await listed(back))[0]!["title"], "Trip to Brno 🚋");
  assert.equal(back.all("conversation_title").length, 1);
  await after.end();
  await world.end({ finished: false });
});

test("a title that is none, and a conversation that is not there, are refused and nothing changes (CVS-3)", async () => {
  const world = new World();
  await answering(world);
  const ui = await world.join("ui", { scopes: ["u"] });
  const looker = await world.join("ui", { name: "looker", scopes: ["u"], inputCapable: false });
  await ui.send(message("hello", "u/a"));
  const before = (await world.entries()).length;
  const titles = ["", "  ", "two\nlines", "bell\u0007", "turned\u202egnp", "x".repeat(201), "🦊".repeat(201)];
  for (const title of titles) await ui.send(rename("u/a", title));
  assert.deepEqual(
    ui.all("bb_error").map(({ code }) => code),
    titles.map(() => "invalid_event"),
  );
  await ui.send(rename("u/none", "x"), rename("u/a/~child", "x"), rename("v/a", "x"));
  await looker.send(rename("u/a", "x"), remove("u/a"), fork("u/a", 1, "u/b"));
  assert.deepEqual(
    ui
      .all("bb_error")
      .slice(titles.length)
      .map(({ code }) => code),
    ["not_found", "invalid_params", "not_found"],
  );
  assert.deepEqual(
    looker.all("bb_error").map(({ code }) => code),
    ["forbidden", "forbidden", "forbidden"],
  );
  assert.equal((await world.entries()).length, before);
  await world.end();
});

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

test("a deleted conversation is gone for everybody, and its scope begins anew (CVS-5)", async () => {
  const world = new World();
  const infer = await answering(world);
  const ui = await world.join("ui", { scopes: ["u"] });
  const second = await world.join("ui", { name: "second", scopes: ["u"] });
  await ui.send(message("a secret", "u/a"));
  await ui.send(message("of a child", "u/a/~k"));
  await ui.send(message("something else", "u/b"));
  const old = ui.all("user_event")[0]!["cursor"];
  await second.link.close("away");
  await ui.send(remove("u/a"));
  assert.equal(ui.last("bb_delete_result")["success"], true);
  assert.equal(ui.last("conversation_deleted")["scope"], "u/a");
  assert.deepEqual(scopes(await listed(ui)), ["u/b"]);
  assert.ok(!JSON.stringify(await world.entries()).includes("a secret"));
  assert.ok(!JSON.stringify(await world.entries()).includes("of a child"));
  // Whoever was away is told, and sees nothing of what was.
  const back = await world.join("ui", { name: "second", scopes: ["u"] }, { resume: [old] });
  assert.deepEqual(
    back.got.filter(({ scope }) => scope === "u/a").map(({ event_type }) => event_type),
    ["bb_snapshot", "conversation_deleted"],
  );
  assert.deepEqual(back.last("bb_snapshot")["state"], { messages: [], open: [], more: false });
  await ui.send(message("a new beginning", "u/a"));
  assert.equal((shownTo(infer) as unknown[]).length, 1);
  assert.deepEqual(
    (await listed(ui)).map(({ title }) => title),
    ["a new beginning", "something else"],
  );
  await ui.send({ event_type: "bb_history_request", id: "h", scope: "u/a", before: old });
  assert.equal((ui.last("bb_history_result")["error"] as Event)["code"], "cursor_expired");
  await ui.send({ event_type: "bb_history_request", id: "h2", scope: "u/a" });
  assert.equal((ui.last("bb_history_result")["events"] as Event[])[0]!.event_type, "conversation_deleted");
  await world.end();
});

test("what goes on is not deleted, nor what is not there; and after a restart it stays deleted (CVS-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui", { scopes: ["u"] });
  await ui.send(message("one", "u/a"), remove("u/a"), remove("u/none", "d2"), remove("u/a/~k", "d3"));
  assert.deepEqual(
    ui.all("bb_error").map(({ in_reply_to, code }) => [in_reply_to, code]),
    [
      ["d", "conflict"],
      ["d2", "not_found"],
      ["d3", "invalid_params"],
    ],
  );
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "said"), inferResult(request));
  await ui.send(remove("u/a", "d4"), remove("u/a", "d5"));
  assert.equal(ui.last("bb_delete_result")["in_reply_to"], "d4");
  assert.equal(ui.last("bb_error")["code"], "not_found");
  const after = await restarted(world.log);
  await goOn(after);
  const back = await after.join("ui", { scopes: ["u"] }, { resume: "start" });
  assert.deepEqual(await listed(back), []);
  const again = await answering(after);
  await back.send(message("hello", "u/a"));
  assert.equal((shownTo(again) as unknown[]).length, 1);
  await after.end();
  await world.end({ finished: false });
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

test("a list of many conversations holds up nobody, and holds no more than its page (CVS-1)", async () => {
  const log = new MemoryLog();
  for (let n = 0; n < 30_000; n++)
    await log.append(`u/c${n}`, 0, { id: `e${n}`, events: [message("x", `u/c${n}`)], about: { title: `title ${n}` } });
  const world = new World({ log });
  const ui = await world.join("ui", { scopes: ["u"] });
  ui.link.send(list({ limit: 3 }));
  // Between its slices others have their turn.
  let turns = 0;
  for (; ui.all("bb_conversations_result").length === 0; turns++) await turnOfTheLoop();
  assert.ok(turns > 15, String(turns));
  const found = ui.last("bb_conversations_result")["conversations"] as Event[];
  assert.deepEqual(
    found.map(({ title }) => title),
    ["title 29999", "title 29998", "title 29997"],
  );
  await world.hub.close();
});
