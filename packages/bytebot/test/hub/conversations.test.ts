import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { MemoryLog } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { answering, list, rename, fork, remove, listed, scopes, shownTo } from "./conversing.ts";
import { goOn, restarted } from "./restart.ts";
import { inferResult, message, textChunks, World } from "./world.ts";

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
