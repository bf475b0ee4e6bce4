import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ByteBot, type ByteBotOptions, type Event } from "bytebot";
import * as bb from "bytebot/sdk";
import { z } from "zod";
import { main } from "../../src/index.ts";
import {
  answer,
  call,
  converse,
  formats,
  gemini,
  KEY,
  KEY_ENV,
  messages,
  responses,
  say,
  stop,
  think,
  whole,
  type Format,
} from "../formats/index.ts";
import { breaks, hangs, plays, refuses, serving, type Server } from "./server.ts";
import { mustBeStrict } from "./strict.ts";

process.env[KEY_ENV] = KEY;

const ref = fileURLToPath(new URL("../..", import.meta.url));
const limits = { retryMs: 1 };

/** What the satellite's opts are for a server of this format. */
function opts(format: Format, server: Server, model?: string): Record<string, unknown> {
  const { provider, api, settings, baseUrl: base_url, model: usual } = format.options(server);
  const retry = { tries: 3, first_ms: 1, longest_ms: 4000 };
  return {
    provider,
    model: model ?? usual,
    base_url,
    api_key_env: KEY_ENV,
    retry,
    ...(api ? { api } : {}),
    ...(settings ? { settings } : {}),
  };
}

/** Adds, and counts how often it was asked to. */
function adding(hub: ByteBot): { ran: number } {
  const counted = { ran: 0 };
  const input = z.object({ a: z.number(), b: z.number() });
  const run = ({ a, b }: z.infer<typeof input>) => ((counted.ran += 1), String(a + b));
  hub.attach({
    kind: "toolsource",
    name: "sums",
    main: async () => {
      const satellite = await bb.sync({ kind: "toolsource" });
      satellite.tool(bb.defineTool({ name: "add", description: "Adds.", input, run }));
      await satellite.start();
    },
  });
  return counted;
}

/** What a UI sees of one turn; at the first delta of text `seen` is called. */
async function turn(hub: ByteBot, scope: string, text: string, seen?: () => Promise<unknown>): Promise<Event[]> {
  const events = hub.events(scope, { signal: AbortSignal.timeout(30_000) });
  await hub.send(scope, text);
  const all: Event[] = [];
  for await (const event of events) {
    all.push(event);
    if (event["kind"] === "block_delta" && seen) await seen();
    if (event["kind"] === "loop_done") break;
  }
  return all;
}

/** The blocks that count: the last attempt of each round. */
function blocksOf(events: readonly Event[]): unknown[] {
  const stops = events.filter(({ kind }) => kind === "block_stop");
  const last = (round: unknown) =>
    Math.max(...stops.filter((one) => one["round"] === round).map(({ attempt }) => Number(attempt)));
  return stops
    .filter(({ round, attempt }) => attempt === last(round))
    .map(({ block }) => {
      const { type, text, name, input } = block as bb.Block;
      return type === "tool_use" ? [name, input] : text;
    });
}

for (const format of formats) {
  test(
    `${format.name}: under a Hub a reply that died is said again once, a refusal is told, an interrupt ends the wait, and what follows is strict (hard cases 11, 12 and 15)`,
    { timeout: 60_000 },
    async (t) => {
      const words = Array.from({ length: 30 }, (_, n) => say(`word${n} `));
      const sum = call("add", "call_1", '{"a":2,', '"b":3}');
      const half = format.events(...words, sum).slice(0, format.events(...words).length + 1);
      const later = format.refusal("rate", "come back later");
      const server = await serving(
        t,
        breaks(format, half),
        plays(format, whole(format, ...words, sum, stop("tool_use"))),
        plays(format, answer(format, "It is 5.")),
        refuses(later, { "retry-after": "18000" }),
        refuses(format.refusal("rate", "slow down"), { "retry-after": "3" }),
        hangs(format, format.events(say(" "))),
        hangs(format, format.events(say("Half an ans"))),
        plays(format, answer(format, "All there.")),
      );
      const hub = new ByteBot({ limits, report: () => undefined });
      t.after(() => hub.stop());
      const sums = adding(hub);
      hub.attachInfer({ ref, opts: opts(format, server), env: [KEY_ENV] }, { primary: true });
      await hub.start();

      const died = await turn(hub, "died", "2 + 3?");
      const said = words.map((word) => ("say" in word ? word.say : "")).join("");
      assert.deepEqual(blocksOf(died), [said, ["add", { a: 2, b: 3 }], "It is 5."]);
      assert.deepEqual([sums.ran, died.filter(({ event_type }) => event_type === "tool_call").length], [1, 1]);
      assert.equal(died.at(-1)?.["stop_reason"], "end_turn");
      const after = format.toTurns(server.heard[2]!.body);
      mustBeStrict(after);
      assert.deepEqual(
        after.map(({ parts }) => parts.map((part) => Object.keys(part)[0])),
        [["text"], ["text", "call"], ["result"]],
      );

      const refused = (await turn(hub, "refused", "Hello")).at(-1)!;
      const error = refused["error"] as bb.WireError;
      assert.deepEqual([refused["stop_reason"], error.code, error.retry_after_ms], ["error", "overloaded", 18_000_000]);
      assert.match(error.message, /come back later/);

      const waits = turn(hub, "waits", "One");
      while (server.heard.length < 5) await new Promise(setImmediate);
      await server.heard[4]!.closed;
      await hub.interrupt("waits");
      assert.equal((await waits).at(-1)?.["stop_reason"], "interrupted");
      const stops = () => hub.interrupt("waits");
      for (const text of ["Two", "Three"]) {
        const stopped = await turn(hub, "waits", text, stops);
        assert.equal(stopped.at(-1)?.["stop_reason"], "interrupted");
        await server.heard.at(-1)!.closed;
      }
      const all = await turn(hub, "waits", "Four");
      assert.deepEqual([blocksOf(all), all.at(-1)?.["stop_reason"]], [["All there."], "end_turn"]);
      const turns = format.toTurns(server.heard.at(-1)!.body);
      mustBeStrict(turns);
      assert.match(JSON.stringify(turns), /One.*Two.*Three.*Half an ans.*Four/);
      assert.equal(server.heard.length, 8);
      assert.doesNotMatch(JSON.stringify([died, refused, all]), new RegExp(KEY));
    },
  );
}

const SIGNATURE = "EqQBCkgIBRABGAIiQL+/abcZz09+/==";
const signing: readonly Format[] = [responses, messages, gemini, converse];

for (const format of signing) {
  test(
    `${format.name}: signed thinking goes back byte for byte after a restart of the Hub, and not to another model (hard case 14)`,
    { timeout: 60_000 },
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "bb-infer-signed-"));
      t.after(() => rm(folder, { recursive: true }));
      const thought = [think("Let me see.", SIGNATURE), call("add", "call_1", '{"a":2,"b":3}'), stop("tool_use")];
      const server = await serving(
        t,
        plays(format, whole(format, ...thought)),
        plays(format, answer(format, "It is 5.")),
        plays(format, answer(format, "Still 5.")),
        plays(format, answer(format, "5, I am told.")),
        plays(format, answer(format, "5 again.")),
      );
      const options: ByteBotOptions = { report: () => undefined };
      const usual = format.options(server).model;
      for (const [text, model] of [
        ["2 + 3?", usual],
        ["Sure?", usual],
        ["And you?", usual.replace(/sonnet|5-mini|flash/, "other")],
        ["And again?", usual],
      ] as const) {
        const hub = await ByteBot.open({ ...options, file: join(folder, "bytebot.db") });
        try {
          adding(hub);
          hub.attachInfer({ main, name: "mind", opts: opts(format, server, model) }, { primary: true });
          await hub.start();
          assert.equal((await turn(hub, "u", text)).at(-1)?.["stop_reason"], "end_turn", text);
        } finally {
          await hub.stop();
        }
      }
      const [, inTurn, restarted, other, back] = server.heard.map(
        ({ body }) => JSON.stringify(body).split(SIGNATURE).length - 1,
      );
      assert.deepEqual({ inTurn, restarted, other, back }, { inTurn: 1, restarted: 1, other: 0, back: 1 });
      for (const { body } of server.heard) mustBeStrict(format.toTurns(body));
    },
  );
}
