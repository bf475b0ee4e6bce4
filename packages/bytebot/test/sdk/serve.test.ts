import assert from "node:assert/strict";
import { test } from "node:test";
import * as bb from "../../src/sdk/index.ts";
import { synced } from "./peer.ts";

const none = (): void => {};

const render = (id: string): bb.Event => ({
  event_type: "bb_context_render_request",
  id,
  scope: "u_1",
  loop_id: "l_1",
  round: 0,
  tools: [],
  history: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
});

const infer = (id: string): bb.Event => ({
  event_type: "bb_infer_request",
  id,
  loop_id: "l_1",
  scope: "u_1",
  stream: true,
  round: 0,
  attempt: 0,
  messages: [],
});

test("a render is answered with what its handler returned, in the scope of its turn", async () => {
  const history: bb.Message[] = [];
  await using running = await synced({ kind: "context" }, (satellite) => {
    satellite.onRender((request) => {
      history.push(...request.history);
      return { system: `you serve ${bb.currentScope()}`, messages: history, model: undefined };
    });
  });
  const { peer } = running;
  for (const id of ["r1", "r2"]) {
    peer.send(render(id));
    const result = await peer.next("bb_context_render_result");
    assert.equal(result["in_reply_to"], id);
    assert.equal(result["system"], "you serve u_1");
  }
  // The handler's own array went out twice and was still its own to change.
  assert.equal(history.length, 2);
  assert.deepEqual(peer.faults, []);
});

test("a failing render says its code, and an unexpected error is internal, without a stack", async (t) => {
  const reported = t.mock.method(console, "error", none);
  await using running = await synced({ kind: "context" }, (satellite) => {
    satellite.onRender(({ id }) => {
      if (id === "r1") throw new bb.BytebotError("overloaded", "too many", { retryable: true, retryAfterMs: 50 });
      throw new TypeError("undefined is no prompt");
    });
  });
  const { peer } = running;
  peer.send(render("r1"), render("r2"));
  assert.deepEqual((await peer.next("bb_context_render_result"))["error"], {
    code: "overloaded",
    message: "too many",
    retryable: true,
    retry_after_ms: 50,
  });
  assert.deepEqual(await peer.next("bb_context_render_result"), {
    event_type: "bb_context_render_result",
    in_reply_to: "r2",
    success: false,
    error: { code: "internal", message: "undefined is no prompt", retryable: false },
  });
  assert.equal(reported.mock.callCount(), 1);
});

test("an infer that took the openai shape reads its request by that shape's types (CNV-2)", async () => {
  const capabilities = { api_shape: "openai" };
  await using running = await synced({ kind: "infer", capabilities }, (satellite) => {
    satellite.onInfer(async ({ messages, tools }: bb.OpenaiInferRequestEvent, reply) => {
      const said = messages.map(({ role }) => role);
      reply.text(`${said.join(", ")}; ${tools?.map((tool) => tool.function.name).join(", ")}`);
      return { stop_reason: "end_turn" };
    });
  });
  const { peer } = running;
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hi" },
  ];
  const tools = [{ type: "function", function: { name: "read" } }];
  peer.send({ ...infer("i1"), api_shape: "openai", messages, tools });
  await peer.next("bb_infer_result");
  const text = peer.events.filter(({ kind }) => kind === "block_delta").map(({ delta }) => delta);
  assert.deepEqual(text, ["system, user; read"]);
});

test("a request id that is in flight is not run twice", async () => {
  let runs = 0;
  const go = Promise.withResolvers<void>();
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.onInfer(async () => {
      runs++;
      await go.promise;
      return { stop_reason: "end_turn" };
    });
  });
  const { peer } = running;
  peer.send(infer("f1"), infer("f1"), { event_type: "bb_ping" });
  await peer.next("bb_pong");
  go.resolve();
  assert.equal((await peer.next("bb_infer_result"))["success"], true);
  peer.send({ event_type: "bb_ping" });
  await peer.next("bb_pong");
  assert.equal(runs, 1);
  assert.equal(peer.events.filter((event) => event.event_type === "bb_infer_result").length, 1);
});

test("a cancelled inference stops sending and is answered as cancelled, with the usage it reports", async () => {
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.onInfer(async (_request, reply, { signal }) => {
      reply.text("before");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reply.text("after");
      return { stop_reason: "end_turn", usage: { output_tokens: 3 } };
    });
  });
  const { peer } = running;
  peer.send(infer("f1"));
  await peer.next("infer_chunk");
  peer.send({ event_type: "bb_cancel", target: "f1", reason: "esc" });
  assert.deepEqual(await peer.next("bb_infer_result"), {
    event_type: "bb_infer_result",
    in_reply_to: "f1",
    loop_id: "l_1",
    success: false,
    error: { code: "cancelled", message: "cancelled: esc", retryable: false },
    usage: { output_tokens: 3 },
  });
  const kinds = peer.events.filter((event) => event.event_type === "infer_chunk").map((event) => event["kind"]);
  assert.deepEqual(kinds, ["block_start", "block_delta"]);
});

test("work that ignores its cancel is answered for it, once", async () => {
  const late = Promise.withResolvers<bb.InferEnd>();
  await using running = await synced({ kind: "infer" }, (satellite) => satellite.onInfer(() => late.promise));
  const { peer } = running;
  peer.send(infer("f1"), { event_type: "bb_cancel", target: "f1" });
  const result = await peer.next("bb_infer_result");
  assert.equal((result["error"] as bb.WireError).code, "cancelled");
  late.resolve({ stop_reason: "end_turn" });
  peer.send({ event_type: "bb_ping" });
  await peer.next("bb_pong");
  assert.equal(peer.events.filter((event) => event.event_type === "bb_infer_result").length, 1);
});

test("the end of the connection aborts what is in flight", async () => {
  const aborted = Promise.withResolvers<unknown>();
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.onInfer(async (_request, _reply, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      return new Promise<never>(() => {});
    });
  });
  running.peer.send(infer("f1"), { event_type: "bb_ping" });
  await running.peer.next("bb_pong");
  await running.peer.link.close("the Hub stopped");
  assert.match(String(await aborted.promise), /the connection closed: the Hub stopped/);
});

test("a request that nothing serves is refused at once, naming what is missing", async () => {
  await using running = await synced({ kind: "infer" }, (satellite) => satellite.on("*", none));
  running.peer.send(infer("f1"));
  const { error } = (await running.peer.next("bb_infer_result")) as unknown as { error: bb.WireError };
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /register satellite\.onInfer/);
});

test("a plain handler may serve a request by itself, and where it throws the request is answered", async () => {
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.on("bb_infer_request", ({ id }) => {
      if (id === "f2") throw new bb.BytebotError("budget_exceeded", "nothing left");
      satellite.send({
        event_type: "bb_infer_result",
        in_reply_to: id,
        success: true,
        stop_reason: "end_turn",
        content: [],
      });
    });
  });
  const { peer } = running;
  peer.send(infer("f1"));
  assert.equal((await peer.next("bb_infer_result"))["success"], true);
  peer.send(infer("f2"));
  const { error } = (await peer.next("bb_infer_result")) as unknown as { error: bb.WireError };
  assert.equal(error.code, "budget_exceeded");
});

test("copies sent to an observer are heard and never answered", async () => {
  const heard: string[] = [];
  await using running = await synced({ kind: "telemetry" }, (satellite) => {
    satellite.on("*", (event) => void heard.push(event.event_type));
  });
  const { peer, satellite } = running;
  const observed = [
    infer("f1"),
    { event_type: "bb_bye", reason: "x" },
    { event_type: "bb_error", code: "internal", message: "m", retryable: false },
  ];
  for (const event of observed) peer.send({ ...event, observed: true });
  peer.send({ event_type: "bb_ping" });
  await peer.next("bb_pong");
  assert.deepEqual(heard, ["bb_infer_request", "bb_bye", "bb_error"]);
  assert.equal(satellite.signal.aborted, false);
  assert.equal(peer.events.filter((event) => event.event_type === "bb_infer_result").length, 0);
});

test("a second handler, and one that the kind can never be asked for, are refused with the fix", async () => {
  await using running = await synced({ kind: "context" }, (satellite) => satellite.onRender(() => ({})));
  const { satellite } = running;
  assert.throws(() => satellite.onRender(() => ({})), /onRender\(\) already has its handler/);
  assert.throws(
    () => satellite.onInfer(async () => ({ stop_reason: "end_turn" })),
    /is for kind "infer", and this satellite synced as "context"/,
  );
});

test("an infer that forgets how it ended is told so", async () => {
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.onInfer((async () => {}) as unknown as () => Promise<bb.InferEnd>);
  });
  running.peer.send(infer("f1"));
  const { error } = (await running.peer.next("bb_infer_result")) as unknown as { error: bb.WireError };
  assert.match(error.message, /has to return \{ stop_reason \}/);
});

test("a reply that cannot cross the wire fails its request instead of vanishing", async () => {
  await using running = await synced({ kind: "context" }, (satellite) =>
    satellite.onRender(() => ({ params: { seed: 1n } })),
  );
  running.peer.send(render("r1"));
  const result = await running.peer.next("bb_context_render_result");
  assert.deepEqual([result["success"], (result["error"] as bb.WireError).code], [false, "invalid_event"]);
});
