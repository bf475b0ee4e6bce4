import assert from "node:assert/strict";
import * as bb from "../../src/sdk/index.ts";
import type { Event } from "../../src/wire/index.ts";

const DEADLINE_MS = 60_000;

/** Something to wait for. */
class Watched {
  private readonly waiting = new Set<() => void>();

  async until(condition: () => boolean, what = "it"): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`${what} was not seen`)), DEADLINE_MS);
    try {
      while (!condition())
        await Promise.race([new Promise<void>((resolve) => this.waiting.add(resolve)), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  protected wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}

/** A person at a UI that comes back with its cursor, and sends again what was not acknowledged. */
export class Person extends Watched {
  /** Each durable event it was shown, over all connections, in that order. */
  readonly durable: Event[] = [];
  /** All that it was shown. */
  readonly seen: Event[] = [];
  readonly acknowledged = new Set<string>();
  cursor: string | undefined;
  satellite: bb.Satellite | undefined;

  readonly main: bb.Main = async () => {
    const satellite = await bb.sync({ kind: "ui", inputCapable: true, resume: this.cursor ?? "start" });
    satellite.on("*", (event) => this.sees(event));
    this.satellite = satellite;
    this.wake();
    const gone = (): void => {
      if (this.satellite === satellite) this.satellite = undefined;
    };
    satellite.signal.addEventListener("abort", gone, { once: true });
    await satellite.start();
  };

  /** Resolves when it is acknowledged, by whichever Hub. */
  async say(scope: string, text: string, id: string): Promise<void> {
    while (!this.acknowledged.has(id)) {
      await this.until(() => this.satellite !== undefined);
      try {
        await this.satellite!.sendUserEvent(scope, text, { id });
        this.acknowledged.add(id);
      } catch (error) {
        const { code } = bb.BytebotError.from(error);
        assert.ok(
          ["unavailable", "timeout"].includes(code),
          `only a Hub that is gone does not take it: ${String(error)}`,
        );
      }
    }
  }

  /** So many turns of this scope have come to their end. */
  async sawEnds(scope: string, count = 1): Promise<void> {
    await this.until(() => this.ends(scope).length >= count, `${count} ends in ${scope}`);
  }

  ends(scope: string): Event[] {
    return this.durable.filter((event) => event["kind"] === "loop_done" && event["scope"] === scope);
  }

  /** What it reads in this scope: the deltas, what replaced them, and nothing that was void. */
  text(scope: string): string {
    const rounds = new Map<string, { attempt: number; blocks: Map<number, string> }>();
    for (const event of this.seen) {
      if (event.event_type !== "infer_chunk" || event["scope"] !== scope || event["kind"] === "loop_done") continue;
      const { loop_id, round, attempt, index, kind, delta, block } = event as never as Chunk;
      const key = `${loop_id} ${round}`;
      let open = rounds.get(key);
      if (!open || open.attempt < attempt) rounds.set(key, (open = { attempt, blocks: new Map() }));
      if (open.attempt > attempt) continue;
      if (kind === "block_start") open.blocks.set(index, "");
      else if (kind === "block_delta") open.blocks.set(index, (open.blocks.get(index) ?? "") + delta);
      else open.blocks.set(index, block.text ?? JSON.stringify(block));
    }
    return [...rounds.values()].map(({ blocks }) => [...blocks.values()].join("|")).join("\n");
  }

  private sees(event: Event): void {
    this.seen.push(event);
    if (typeof event["cursor"] === "string") this.cursor = event["cursor"];
    if (event["seq"] !== undefined && event["cursor"] !== undefined) this.durable.push(event);
    this.wake();
  }
}

interface Chunk {
  loop_id: string;
  round: number;
  attempt: number;
  index: number;
  kind: string;
  delta: string;
  block: { text?: string };
}

/** A model by script: to a text that names tools it answers with two calls, then says that all is done. */
export class Script extends Watched {
  /** What it was shown last, by scope. */
  readonly shown = new Map<string, bb.Message[]>();
  /** Waited for before each answer's second word. */
  pause: () => Promise<void> = () => Promise.resolve();

  /** How often it has joined. */
  synced = 0;
  /** Waited for before it joins. */
  ready: () => Promise<void> = () => Promise.resolve();

  readonly main: bb.Main = async () => {
    await this.ready();
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async ({ scope, messages, round }, reply) => {
      this.shown.set(scope, messages);
      const calls = round === 0 && JSON.stringify(messages.at(-1)).includes("tools");
      reply.text(calls ? "let " : "all ");
      await this.pause();
      reply.text(calls ? "me see" : "done");
      if (!calls) return { stop_reason: "end_turn" };
      reply.block({ type: "tool_use", name: "look", input: { at: 1 } });
      reply.block({ type: "tool_use", name: "write", input: { at: 2 } });
      return { stop_reason: "tool_use" };
    });
    this.synced++;
    this.wake();
    await satellite.start();
  };

  /** How often the model was shown this text in the scope's newest request. */
  count(scope: string, text: string): number {
    return JSON.stringify(this.shown.get(scope) ?? []).split(JSON.stringify(text).slice(1, -1)).length - 1;
  }
}

/** Two tools, of which one may be called twice. */
export class Tools extends Watched {
  readonly ran: { name: string; scope: string; callId: string }[] = [];
  /** Calls whose result is in the log. */
  readonly settled = new Set<string>();
  /** How often they were registered: once for each Hub. */
  registered = 0;
  result: (name: string) => string = (name) => `${name} ran`;

  readonly main: bb.Main = async () => {
    const satellite = await bb.sync({ kind: "toolsource" });
    for (const name of ["look", "write"]) {
      const tool = bb.defineTool({
        name,
        inputSchema: { type: "object" },
        annotations: { idempotent: name === "look" },
        run: (_input, { scope, callId }) => {
          assert.ok(!this.settled.has(callId), `call ${callId} was answered, and is asked for again`);
          this.ran.push({ name, scope, callId });
          this.wake();
          return this.result(name);
        },
      });
      satellite.tool(tool);
    }
    satellite.on("bb_tool_register_result", () => {
      this.registered++;
      this.wake();
    });
    await satellite.start();
  };

  of(scope: string, name: string): string[] {
    return this.ran.filter((call) => call.scope === scope && call.name === name).map(({ callId }) => callId);
  }
}
