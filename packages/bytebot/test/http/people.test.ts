import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { ByteBot, Event } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import { main as answers } from "../fixtures/answers.ts";
import { app } from "./client.ts";

const timeout = 60_000;
const FIXTURE = join(import.meta.dirname, "../fixtures/answers.ts");

/** How a person's ui comes in. `principal`: by its grant; `opts.principal`: what it says itself. */
interface Ui {
  name: string;
  principal?: string;
  vouches?: boolean;
  opts: { value: string; principal?: string };
}

type Way = (t: TestContext, hub: ByteBot, ui: Ui) => Promise<void>;

const ways: Record<string, Way> = {
  "in-proc": async (_t, hub, { name, opts, principal, vouches = false }) => {
    await hub.attach({ main: answers, kind: "ui", name, opts }, { principal, vouches }).ready;
  },
  stdio: async (_t, hub, { name, opts, principal, vouches = false }) => {
    const entry = { type: "stdio" as const, command: [process.execPath, "--no-warnings", FIXTURE] };
    await hub.attach({ kind: "ui", name, entry, opts }, { principal, vouches }).ready;
  },
  HTTP: async (t, hub, { name, opts, principal, vouches = false }) => {
    const url = await hub.serveHttp();
    const grant = { name, kind: "ui" as const, vouches, ...(principal === undefined ? {} : { principal }) };
    const { token } = await hub.mintToken(grant);
    const gone = new AbortController();
    t.after(() => gone.abort());
    const joined = Promise.withResolvers<void>();
    const main: bb.Main = (start) => {
      joined.resolve();
      return answers(start);
    };
    void bb.dialHttp(main, { url, token, opts, signal: gone.signal });
    await joined.promise;
    const there = async (): Promise<boolean> =>
      (await hub.components()).some(({ component_id }) => component_id === name);
    while (!(await there())) await new Promise((resolve) => setImmediate(resolve));
  },
};

const eraser: bb.Main = async () => {
  const tools = await bb.sync({ kind: "toolsource" });
  const does = { name: "erase", annotations: { destructive: true }, inputSchema: { type: "object" } };
  tools.tool(bb.defineTool({ ...does, run: () => "erased" }));
  await tools.start();
};

/** Asks for a call, and resolves with its result, and all that was logged and shown meanwhile. */
async function erases(hub: ByteBot, outcomes: number): Promise<{ status: unknown; seen: Event[] }> {
  const seen: Event[] = [];
  const watching = new AbortController();
  const all = Promise.withResolvers<void>();
  const watched = (async () => {
    for await (const event of hub.events("u", { signal: watching.signal })) {
      seen.push(event);
      if (seen.filter(({ event_type }) => event_type === "com.example/answered").length === outcomes) all.resolve();
    }
  })();
  const { status } = await hub.callTool("u", "erase", { path: "/" });
  await all.promise;
  watching.abort();
  await watched;
  return { status, seen };
}

const answered = (seen: Event[], from: string): unknown =>
  seen.find(({ event_type, from: sender }) => event_type === "com.example/answered" && sender === from)?.["outcome"];

for (const [name, comes] of Object.entries(ways)) {
  test(
    `over ${name} only who may answers an approval, whoever others say they are; the log says who it was, and one that nobody gives in time runs nothing (POL-6, PRN-2, PRN-3, hard cases 24, 25 and 36)`,
    { timeout },
    async (t) => {
      const hub = await app(t, {
        policy: [{ tool: "*", decision: "ask", approvers: ["kim"] }],
        limits: { questionMs: 3000 },
      });
      await hub.attach({ main: eraser, kind: "toolsource", name: "files" }).ready;
      await comes(t, hub, { name: "eves", principal: "eve", opts: { value: "once" } });
      await comes(t, hub, { name: "web", vouches: true, opts: { value: "once", principal: "jo" } });
      await comes(t, hub, { name: "liars", principal: "liar", opts: { value: "once", principal: "kim" } });
      const nobody = await erases(hub, 3);
      assert.equal(nobody.status, "denied");
      for (const who of ["eves", "web", "liars"]) assert.equal(answered(nobody.seen, who), "forbidden", who);
      await comes(t, hub, { name: "kims", principal: "kim", opts: { value: "once" } });
      const { status, seen } = await erases(hub, 4);
      assert.equal(status, "ok");
      assert.equal(answered(seen, "kims"), "counted");
      // Refused, or too late: who of them comes first is up to their processes.
      assert.match(String(answered(seen, "eves")), /^(?:forbidden|not_found)$/);
      const resolved = seen.find(({ event_type }) => event_type === "input_resolved");
      assert.deepEqual([resolved?.["principal"], resolved?.["by"], resolved?.["choice"]], ["kim", "kims", "once"]);
      const ran = seen.find(({ event_type }) => event_type === "bb_tool_call_request");
      assert.equal(ran?.["approved_by"], "kim");
    },
  );
}
