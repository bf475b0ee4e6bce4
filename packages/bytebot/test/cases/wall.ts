import assert from "node:assert/strict";
import * as bb from "../../src/sdk/index.ts";
import { toolsource, ui, type Answer } from "../transcripts/satellites.ts";
import { script } from "../transcripts/script.ts";
import { aborted, calls, echo, model, says, stream } from "./cast.ts";

const CHILD = "u_3/c_1/~child";

export const oneOfMany = script({
  name: "case-22-one-of-many",
  about:
    "One of forty scopes that stream is interrupted: it and its child stop, nothing else, and nothing of it comes back.",
  app: { limits: { graceMs: 30_000 } },
  cast: [
    model({ stream: [stream], spawn: [calls(["spawn", {}]), says("It is over.")] }),
    toolsource((satellite) => [
      bb.defineTool({
        name: "spawn",
        inputSchema: { type: "object" },
        run: async (_input, { callId }) => {
          const request = { event_type: "bb_turn_request", call_id: callId, scope: CHILD, content: "stream on" };
          const result = await satellite.request(request, { timeoutMs: Infinity });
          return JSON.stringify(result["success"]);
        },
      }),
    ]),
    ui(async (person) => {
      // Beside it others of its tenant, one with a name that begins like its own.
      const scopes = [...Array.from({ length: 38 }, (_, n) => `u_${n}/c_1`), "u_3/c_10", "u_3/c_2"];
      const streaming = new Set<unknown>();
      const isStreaming = async (count: number) => {
        while (streaming.size < count)
          streaming.add((await person.sees("infer_chunk", { kind: "block_delta" }))["scope"]);
      };
      const say = (scope: string) =>
        person.satellite.sendUserEvent(scope, scope === "u_3/c_1" ? "spawn one" : "stream on");
      await Promise.all(scopes.map(say));
      // With the one that asks for a child, and the child.
      await isStreaming(scopes.length + 1);
      assert.ok(streaming.has(CHILD));
      await person.satellite.interrupt("u_3/c_1");
      await person.sees("scope_state", { state: "idle", scope: "u_3/c_1" });
      const ends = () => person.came.filter(({ kind }) => kind === "loop_done").map(({ scope }) => scope);
      assert.equal(ends().length, 2);
      assert.deepEqual(new Set(ends()), new Set(["u_3/c_1", CHILD]));
      const others = scopes.filter((scope) => scope !== "u_3/c_1");
      for (const scope of others) await person.satellite.interrupt(scope);
      while (ends().length < scopes.length + 1) await person.sees("infer_chunk", { kind: "loop_done" });
      assert.equal(new Set(ends()).size, scopes.length + 1, "each ended once");
    }),
  ],
});

const refused = async (promise: Promise<unknown>, ...codes: string[]): Promise<void> => {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => bb.BytebotError.from(thrown),
  );
  assert.ok(error && codes.includes(error.code), `refused with ${error?.code ?? "nothing"}, not ${codes.join(" or ")}`);
};

const NAMES = [
  "u_b",
  "u_b/c_1",
  "U_A",
  "u_a2",
  "u_",
  "u_a/../u_b",
  "../u_b",
  "/",
  "",
  "*",
  ".",
  "u_a/",
  "%75_b",
  "u_а",
];

export const spellings = script({
  name: "case-36-spellings",
  about: "A UI of one scope tries another by every spelling and with its cursor: all refused, and nothing gets there.",
  reports: /./,
  cast: [
    model({}),
    {
      ...ui(
        async (person) => {
          await person.satellite.sendUserEvent("u_b", "hello secret");
          await person.sees("scope_state", { state: "idle", scope: "u_b" });
        },
        { name: "had" },
      ),
      scopes: ["u_b"],
    },
    {
      ...ui(async (person) => aborted(person.satellite.signal), { name: "victim", primary: false }),
      scopes: ["u_b"],
      after: "had",
    },
    {
      ...ui(
        async (person) => {
          const { satellite } = person;
          await person.sees("bb_live");
          for (const scope of NAMES) {
            // What is no scope at all the SDK may refuse itself.
            const codes = ["not_found", "invalid_event", "invalid_params"];
            await refused(satellite.sendUserEvent(scope, "let me in"), ...codes);
            await refused(satellite.interrupt(scope), ...codes);
            const history = { event_type: "bb_history_request", scope };
            const page = await satellite.request(history).catch((error: unknown) => ({ error }));
            assert.ok("error" in page && !("events" in page), `no history of ${scope}`);
          }
          await satellite.sendUserEvent("u_a", "mine");
          await person.sees("scope_state", { state: "idle", scope: "u_a" });
          const foreign = person.came.filter(({ scope }) => scope !== undefined && scope !== "u_a");
          assert.deepEqual(foreign, []);
        },
        { name: "ui" },
      ),
      scopes: ["u_a"],
      resumes: "had",
    },
  ],
});

const SCOPES = 100;
const canary = (scope: unknown): string => `canary-${String(scope).split("/")[0]}.`;

const tells: Answer = (request, reply) => {
  reply.text(`I was told of ${JSON.stringify(request.messages)}`);
  return { stop_reason: "end_turn" };
};
const passesOn: Answer = (request, reply, context) =>
  calls(["echo", { what: canary(request.scope) }])(request, reply, context);

/** Of each event that came: no canary but its own scope's. */
export function strangers(events: readonly bb.Event[]): string[] {
  return events.flatMap((event) => {
    const found = JSON.stringify(event).match(/canary-[\w]+\./g) ?? [];
    return found.filter((each) => each !== canary(event["scope"])).map((each) => `${each} in ${JSON.stringify(event)}`);
  });
}

export const canaries = script({
  name: "case-37-canaries",
  about: "A hundred scopes with a canary each through the same satellites: none crosses.",
  cast: [
    model({ tell: [passesOn, tells] }),
    toolsource(() => [echo]),
    { ...ui(async (person) => aborted(person.satellite.signal), { name: "narrow", primary: false }), scopes: ["u_7"] },
    ui(async (person) => {
      const scopes = Array.from({ length: SCOPES }, (_, n) => `u_${n}/c_1`);
      await Promise.all(scopes.map((scope) => person.satellite.sendUserEvent(scope, `tell ${canary(scope)}`)));
      const idle = new Set<unknown>();
      while (idle.size < SCOPES) idle.add((await person.sees("scope_state", { state: "idle" }))["scope"]);
      const ends = person.came.filter(({ kind, stop_reason }) => kind === "loop_done" && stop_reason === "end_turn");
      assert.equal(ends.length, SCOPES);
      assert.deepEqual(strangers(person.came), []);
    }),
  ],
});
