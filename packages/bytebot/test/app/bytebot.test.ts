import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { ByteBot, type Event } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";

const infer = {
  name: "scripted",
  kind: "infer" as const,
  main: async () => {
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async ({ round, tools, messages }, reply) => {
      const said = JSON.stringify(messages.at(-1));
      if (round === 0 && tools?.some(({ name }) => name === "double") && said.includes("double")) {
        reply.toolUse({ name: "double" }).delta('{"n":21}');
        return { stop_reason: "tool_use" };
      }
      reply.text(`heard ${said.includes("42") ? "42" : "you"}`);
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  },
};

const tools = {
  name: "maths",
  kind: "toolsource" as const,
  main: async () => {
    const satellite = await bb.sync({ kind: "toolsource" });
    const input = z.object({ n: z.number() });
    satellite.tool(bb.defineTool({ name: "double", description: "Doubles n.", input, run: ({ n }) => String(n * 2) }));
    await satellite.start();
  },
};

/** Sends, and waits for the end of the turn; the text that was answered. */
async function turn(hub: ByteBot, scope: string, text: string): Promise<string> {
  const events = hub.events(scope, { types: ["infer_chunk"], signal: AbortSignal.timeout(10_000) });
  await hub.send(scope, text);
  let answer = "";
  for await (const event of events) {
    if (event["block_type"] === "text" && event["kind"] === "block_delta") answer += String(event["delta"]);
    if (event["kind"] === "loop_done") break;
  }
  return answer;
}

test("an app starts in an order that leaves nobody without what it needs, lists its components, and ends them all", async () => {
  const hub = new ByteBot({ report: () => undefined });
  hub.attach({
    name: "asks",
    kind: "ui",
    main: async () => {
      const ui = await bb.sync({ kind: "ui" });
      const closed = ui.start();
      await bb.scoped("u", () => ui.sendUserEvent(null, "double it"));
      await closed;
    },
  });
  hub.attach(tools);
  hub.attachInfer(infer);
  const events = hub.events("u", { types: ["infer_chunk"], signal: AbortSignal.timeout(10_000) });
  await hub.start();
  const listed = await hub.components();
  assert.deepEqual(
    listed.map(({ component_id, kind, state, primary }) => [component_id, kind, state, primary]),
    [
      ["scripted", "infer", "synced", true],
      ["maths", "toolsource", "synced", true],
      ["asks", "ui", "synced", true],
    ],
  );
  for await (const event of events) if (event["kind"] === "loop_done") break;
  await hub.stop();
  await assert.rejects(hub.send("u", "late"), { code: "unavailable" });
});

test("components come and go while the app runs; a tool that has gone is offered no more", async () => {
  await using hub = new ByteBot({ report: () => undefined });
  hub.attachInfer(infer);
  await hub.start();
  assert.equal(await turn(hub, "u", "double it"), "heard you");
  const id = await hub.attach(tools).ready;
  assert.equal(await turn(hub, "u", "double it"), "heard 42");
  const second = await hub.attach(tools).ready.catch((error: unknown) => error);
  assert.equal(second, "maths-2", "an id of its own");
  await hub.detach(id);
  await hub.detach("maths-2");
  assert.equal(await turn(hub, "v", "double it"), "heard you");
  await assert.rejects(hub.detach(id), { code: "not_found" });
});

test("what cannot be started is named by start(), which leaves nothing running", async () => {
  const hub = new ByteBot({ report: () => undefined });
  let ended = false;
  hub.attachInfer({ ...infer, main: async (start) => infer.main().finally(() => void (ended = start.signal.aborted)) });
  hub.attach("./no-such-folder");
  await assert.rejects(hub.start(), /no-such-folder/);
  const broken = new ByteBot({ report: () => undefined });
  broken.attachInfer({
    ...infer,
    main: async (start) => infer.main().finally(() => void (ended = start.signal.aborted)),
  });
  broken.attach({ name: "breaks", kind: "ui", main: () => Promise.reject(new Error("no screen")) });
  await assert.rejects(broken.start(), /no screen/);
  assert.equal(ended, true);
});

test("the app calls a tool, sends once per id, and sets the policy, as the owner on the wire", async () => {
  await using hub = new ByteBot({ report: () => undefined });
  hub.attach(tools);
  hub.attachInfer(infer);
  await hub.start();
  const result = await hub.callTool("u", "maths/double", { n: 4 });
  assert.deepEqual(result.content, [{ type: "text", text: "8" }]);
  const wrong = await hub.callTool("u", "double", { n: "four" });
  assert.equal(wrong.status, "error");
  assert.equal((await hub.callTool("u", "halve", {})).success, false);
  await hub.setPolicy([{ tool: "double", decision: "deny" }]);
  assert.equal((await hub.callTool("u", "double", { n: 4 })).status, "denied");
  const first = await hub.send("u", "hello", { id: "m1" });
  const again = await hub.send("u", "hello", { id: "m1" });
  assert.equal(first["seq"], again["seq"]);
  await assert.rejects(hub.send("u", "other", { id: "m1" }), { code: "conflict" });
  await assert.rejects(hub.send("not a scope", "x"), { code: "invalid_event" });
  const both = await Promise.all([1, 2].map(() => hub.send("v", "twice at once", { id: "m2" })));
  assert.equal(both[0]?.["seq"], both[1]?.["seq"]);
  await assert.rejects(hub.callTool("u", "double", JSON.parse('{"constructor":1}')), { code: "invalid_event" });
  const input = { n: 1, none: undefined };
  assert.equal((await hub.callTool("u", "double", input)).success, false, "denied still");
  assert.ok(!Object.isFrozen(input), "the caller's objects stay the caller's");
});

test("a satellite may attach only what the app agrees to, by its full reference", async () => {
  const asked: string[] = [];
  const hub = new ByteBot({
    report: () => undefined,
    mayAttach: (ref) => {
      asked.push(ref);
      return ref === "./agreed";
    },
  });
  const answers: Event[] = [];
  const done = Promise.withResolvers<void>();
  const component = {
    name: "boss",
    kind: "ui" as const,
    main: async () => {
      const ui = await bb.sync({ kind: "ui", controller: true });
      const closed = ui.start();
      for (const ref of ["./other", "./agreed"]) answers.push(await ui.request({ event_type: "bb_attach", ref }));
      done.resolve();
      await closed;
    },
  };
  hub.attach(component, { controller: true });
  await hub.start();
  await done.promise;
  const codes = answers.map(({ error }) => (error as { code: string }).code);
  assert.deepEqual(codes, ["forbidden", "not_found"], "the second was agreed to, and is not there");
  assert.deepEqual(asked, ["./other", "./agreed"]);
  await hub.stop();
});

test("a reader of events() that does not read is told, and slows nobody", async () => {
  await using hub = new ByteBot({ report: () => undefined, quotas: { events: 100_000 } });
  hub.attach(tools);
  await hub.start();
  const idle = hub.events("*");
  for (let index = 0; index < 2600; index++) await hub.callTool("u", "double", { n: index });
  await assert.rejects(
    async () => {
      for await (const _ of idle);
    },
    { code: "overloaded" },
  );
});
