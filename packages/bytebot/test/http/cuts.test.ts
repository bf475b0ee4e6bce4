import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import * as bb from "../../src/sdk/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { proxy, type Proxy } from "../transport/proxy.ts";
import { app } from "./client.ts";
import { ending } from "./ending.ts";

const TURNS = 12;
const CALLS = 3;
const WORDS = 40;

/** Asks for some tool calls, then says some words, one chunk each. */
const infer: bb.Main = async () => {
  const satellite = await bb.sync({ kind: "infer" });
  satellite.onInfer(async ({ round, scope }, reply) => {
    if (round > 0) {
      for (let n = 0; n < WORDS; n++) {
        reply.text(`${scope}:${n} `);
        if (n % 8 === 0) await setImmediate();
      }
      return { stop_reason: "end_turn" };
    }
    for (let n = 0; n < CALLS; n++) reply.block({ type: "tool_use", name: "work", input: { n } });
    return { stop_reason: "tool_use" };
  });
  await satellite.start();
};

/** How the three get to the Hub through the network. */
const ways = {
  "dialling in": async (
    hub: Awaited<ReturnType<typeof app>>,
    mains: Record<string, bb.Main>,
    through: Through,
    signal: AbortSignal,
  ) => {
    const url = await through(await hub.serveHttp());
    const there = hub.events("*", { types: ["bb_sync_ack", "bb_tool_register_result"] });
    for (const [name, main] of Object.entries(mains)) {
      void bb.dialHttp(main, { url, token: hub.addToken({ name }), signal });
      while (
        ((await there.next()).value as Event).event_type !==
        (name === "tools" ? "bb_tool_register_result" : "bb_sync_ack")
      );
    }
  },
  "dialled by the Hub": async (
    hub: Awaited<ReturnType<typeof app>>,
    mains: Record<string, bb.Main>,
    through: Through,
    signal: AbortSignal,
  ) => {
    for (const [name, main] of Object.entries(mains)) {
      const ref = await through((await bb.serveHttp(main, { signal })).url);
      await hub.attach({ ref, name }, { primary: true }).ready;
    }
  },
};

type Through = (url: string) => Promise<string>;

suite("turns over a network that breaks again and again", () => {
  for (const [way, attach] of Object.entries(ways)) {
    test(`every input, chunk, call and result comes once and in order, ${way} (HTP-6, HTP-7, HTP-8)`, async (t) => {
      const networks: Proxy[] = [];
      const through: Through = async (url) => {
        const network = await proxy(Number(new URL(url).port));
        networks.push(network);
        return `http://127.0.0.1:${network.port}`;
      };
      const worked: string[] = [];
      const shown: Event[] = [];
      const acks: unknown[] = [];
      const over = Promise.withResolvers<void>();
      const cut = (): void => networks.forEach((network) => network.cut());
      const mains: Record<string, bb.Main> = {
        infer,
        tools: async () => {
          const satellite = await bb.sync({ kind: "toolsource" });
          const run = async ({ n }: { n: number }, { scope }: { scope: string }) => {
            worked.push(`${scope} ${n}`);
            if (worked.length % 5 === 0) cut();
            await setImmediate();
            return `${n} is done`;
          };
          satellite.tool(bb.defineTool({ name: "work", input: z.object({ n: z.number() }), run }));
          await satellite.start();
        },
        ui: async () => {
          const satellite = await bb.sync({ kind: "ui" });
          let done = 0;
          satellite.on("*", (event) => {
            shown.push(event as Event);
            if (shown.length % 150 === 0) cut();
            if (event.event_type === "scope_state" && (event as Event)["state"] === "idle" && ++done === TURNS)
              over.resolve();
          });
          const started = satellite.start();
          for (let n = 0; n < TURNS; n++) acks.push((await satellite.sendUserEvent(`u_${n}`, "go")).fate);
          await started;
        },
      };
      const hub = await app(t, { policy: [{ tool: "*", decision: "allow" }] });
      t.after(() => Promise.all(networks.map((network) => network.close())));
      await attach(hub, mains, through, ending(t));
      await over.promise;

      assert.deepEqual(acks, Array(TURNS).fill("started"));
      for (let n = 0; n < TURNS; n++) {
        const scope = `u_${n}`;
        const own = shown.filter((event) => event["scope"] === scope);
        const of = (type: string) => own.filter(({ event_type }) => event_type === type);
        assert.deepEqual(
          worked.filter((work) => work.startsWith(`${scope} `)),
          [0, 1, 2].map((call) => `${scope} ${call}`),
        );
        assert.deepEqual(
          [of("user_event").length, of("tool_call").length, of("tool_result").length],
          [1, CALLS, CALLS],
        );
        assert.ok(of("tool_result").every(({ status }) => status === "ok"));
        const said = own
          .flatMap(({ delta, block_type }) => (typeof delta === "string" && block_type === "text" ? [delta] : []))
          .join("");
        assert.equal(said, Array.from({ length: WORDS }, (_, word) => `${scope}:${word} `).join(""));
        const order = own.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
        assert.deepEqual(
          order,
          [...new Set(order)].sort((a, b) => a - b),
        );
      }
      const made = networks.reduce((sum, network) => sum + network.made, 0);
      assert.ok(made > 8, `only ${made} sockets were made`);
    });
  }
});
