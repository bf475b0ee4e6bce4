import assert from "node:assert/strict";
import { test } from "node:test";
import * as bb from "../../src/sdk/index.ts";
import { synced } from "./peer.ts";

const none = (): void => {};
const isCode = (code: string) => (error: unknown) => error instanceof bb.BytebotError && error.code === code;

test("a ping is answered, and a goodbye from the Hub closes with its reason (CON-6)", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  peer.send({ event_type: "bb_ping", id: "p1" });
  assert.equal((await peer.next("bb_pong"))["in_reply_to"], "p1");
  peer.send({ event_type: "bb_bye", reason: "slow_consumer" });
  assert.equal(await running.reason, "slow_consumer");
  assert.equal(satellite.signal.aborted, true);
});

test("close says goodbye and settles everything that waits", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  const waiting = satellite.sendUserEvent("u_1", "hi");
  await peer.next("user_event");
  await satellite.close("done here");
  await assert.rejects(waiting, isCode("unavailable"));
  assert.equal((await peer.next("bb_bye"))["reason"], "done here");
  assert.equal(await running.reason, "done here");
  await assert.rejects(satellite.sendUserEvent("u_1", "late"), isCode("unavailable"));
  await satellite.close();
});

test("handlers run in the scope of their event, whatever scope it was sent from", async () => {
  const seen: (string | undefined)[] = [];
  const last = Promise.withResolvers<void>();
  await using running = await synced({ kind: "ui" }, (satellite) => {
    satellite.on("scope_state", async () => {
      await Promise.resolve();
      seen.push(bb.currentScope());
    });
    satellite.on("vendor.example/mark", () => {
      seen.push(bb.currentScope());
      last.resolve();
    });
  });
  const { peer } = running;
  bb.scoped("u_9", () => {
    peer.send(
      { event_type: "scope_state", scope: "u_1", state: "idle" },
      { event_type: "scope_state", scope: "u_2/c", state: "idle" },
    );
  });
  bb.scoped("u_9", () => setImmediate(() => peer.send({ event_type: "vendor.example/mark" })));
  await last.promise;
  assert.deepEqual(seen, ["u_1", "u_2/c", undefined]);
});

test("null is the current scope, a user id cannot become a path, and none at all is an error with the fix", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  const sent = bb.scoped(["auth0|7", "x/y"], () => satellite.sendUserEvent(null, "hi", { id: "m1", mode: "steer" }));
  const event = await peer.next("user_event");
  assert.deepEqual(event, {
    event_type: "user_event",
    type: "message",
    id: "m1",
    scope: "auth0%7C7/x%2Fy",
    text: "hi",
    mode: "steer",
  });
  peer.send({ event_type: "bb_ack", in_reply_to: "m1", seq: 4, fate: "steering" });
  assert.equal((await sent).fate, "steering");
  await assert.rejects(satellite.sendUserEvent(null, "hi"), /pass one, or call this inside scoped\(userId/);
  await assert.rejects(satellite.interrupt("not a scope"), /make one of any text with scoped/);
});

test("interrupts and answers are acknowledged, and a refused answer says why", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  const interrupted = satellite.interrupt("u_1", "esc");
  const interrupt = await peer.next("interrupt");
  assert.equal(interrupt["reason"], "esc");
  peer.send({ event_type: "bb_ack", in_reply_to: String(interrupt["id"]) });
  await interrupted;

  const question = { event_type: "input_strict" as const, id: "q1", scope: "u_1", prompt: "how many?" };
  const answered = satellite.answer(question, "accepted", { n: -1 });
  const reply = await peer.next("input_reply");
  assert.deepEqual([reply["in_reply_to"], reply["outcome"], reply["value"]], ["q1", "accepted", { n: -1 }]);
  peer.send({
    event_type: "bb_error",
    in_reply_to: String(reply["id"]),
    code: "invalid_params",
    message: "n is negative",
    retryable: false,
  });
  await assert.rejects(answered, (error) => isCode("invalid_params")(error) && /n is negative/.test(String(error)));
});

test("a request is answered by its id, past its acknowledgement, or fails by deadline or abort", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  const one = satellite.request({ event_type: "bb_components", id: "r1" });
  const two = satellite.request({ event_type: "bb_components" });
  await peer.next("bb_components");
  const second = await peer.next("bb_components");
  await assert.rejects(satellite.request({ event_type: "bb_components", id: "r1" }), isCode("conflict"));
  peer.send({ event_type: "bb_components_result", in_reply_to: String(second["id"]), success: true, components: [] });
  peer.send({ event_type: "bb_ack", in_reply_to: "r1" });
  peer.send({ event_type: "bb_components_result", in_reply_to: "r1", success: false });
  assert.equal((await two)["success"], true);
  assert.deepEqual(await one, { event_type: "bb_components_result", in_reply_to: "r1", success: false });

  await assert.rejects(satellite.request({ event_type: "bb_components" }, { timeoutMs: 5 }), isCode("timeout"));
  const stop = new AbortController();
  const stopped = satellite.request({ event_type: "bb_components" }, { signal: stop.signal });
  stop.abort();
  await assert.rejects(stopped, isCode("cancelled"));
});

test("a handler that throws is reported once, and the others and the next events still come", async (t) => {
  const reported = t.mock.method(console, "error", none);
  const heard: string[] = [];
  const last = Promise.withResolvers<void>();
  await using running = await synced({ kind: "ui" }, (satellite) => {
    satellite.on("scope_state", () => {
      throw new Error("sync");
    });
    satellite.on("scope_state", () => Promise.reject(new Error("async")));
    satellite.on("scope_state", (event) => void heard.push(event.state));
    satellite.on("*", (event) => {
      if (event.event_type === "vendor.example/mark") last.resolve();
    });
  });
  running.peer.send(
    { event_type: "scope_state", scope: "u_1", state: "running" },
    { event_type: "vendor.example/mark" },
  );
  await last.promise;
  assert.deepEqual(heard, ["running"]);
  const lines = reported.mock.calls.map(({ arguments: [line, error] }) => `${String(line)} ${String(error)}`);
  assert.deepEqual(lines, [
    "bytebot: a handler of scope_state failed: Error: sync",
    "bytebot: a handler of scope_state failed: Error: async",
  ]);
});

test("a removed handler hears no more, and the same function registered twice is heard once after one removal", async () => {
  let heard = 0;
  const last = Promise.withResolvers<void>();
  await using running = await synced({ kind: "ui" }, (satellite) => {
    const count = () => void heard++;
    const remove = satellite.onInferChunk(count);
    satellite.onInferChunk(count);
    remove();
    satellite.on("vendor.example/mark", () => last.resolve());
  });
  const chunk = { event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "text", delta: "a" };
  running.peer.send(chunk, { event_type: "vendor.example/mark" });
  await last.promise;
  assert.equal(heard, 1);
});

test("what is sent stays the sender's to change, and what JSON leaves out is left out", async () => {
  await using running = await synced({ kind: "ui" }, none);
  const { peer, satellite } = running;
  const list: unknown[] = [1, undefined];
  const event = { event_type: "vendor.example/data", list, when: new Date(0), gone: undefined };
  satellite.send(event);
  list.push(2);
  assert.deepEqual(await peer.next("vendor.example/data"), {
    event_type: "vendor.example/data",
    list: [1, null],
    when: "1970-01-01T00:00:00.000Z",
  });
  const circle: Record<string, unknown> = { event_type: "vendor.example/circle" };
  circle["self"] = circle;
  assert.throws(() => satellite.send(circle as bb.Event), isCode("too_large"));
  assert.throws(() => satellite.send({ event_type: "vendor.example/big", n: 1n }), isCode("invalid_event"));
  await assert.rejects(satellite.sendUserEvent("u_1", "x".repeat(1024 * 1024)), isCode("too_large"));
  assert.deepEqual(peer.faults, []);
});

test("events are typed by their name", async () => {
  await using running = await synced({ kind: "ui" }, (satellite) => {
    satellite.on("input_strict", (event) => {
      const prompt: string = event.prompt;
      // @ts-expect-error: the options of a question are strings
      const wrong: number[] | undefined = event.options;
      void [prompt, wrong];
    });
    satellite.on("vendor.example/any", (event) => {
      const field: unknown = event["field"];
      void field;
    });
  });
  assert.equal(running.satellite.granted.kind, "ui");
});

test("an error of the Hub's that answers nothing is reported, or goes to its handler", async (t) => {
  const reported = t.mock.method(console, "error", none);
  const error = { event_type: "bb_error", code: "forbidden", message: "not for a ui", retryable: false };
  {
    await using running = await synced({ kind: "ui" }, none);
    running.peer.send(error, { event_type: "bb_ping" });
    await running.peer.next("bb_pong");
  }
  assert.equal(reported.mock.calls[0]?.arguments[0], "bytebot: the Hub answered forbidden: not for a ui");
  const heard = Promise.withResolvers<string>();
  await using running = await synced({ kind: "ui" }, (satellite) =>
    satellite.on("bb_error", ({ code }) => heard.resolve(code)),
  );
  running.peer.send(error);
  assert.equal(await heard.promise, "forbidden");
  assert.equal(reported.mock.callCount(), 1);
});
