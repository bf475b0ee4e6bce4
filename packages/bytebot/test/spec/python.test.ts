import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { before, suite, test } from "node:test";
import { ByteBot } from "../../src/index.ts";
import type { Event, Kind } from "../../src/wire/index.ts";
import { Children } from "../children.ts";

const DEADLINE_MS = 60_000;
const folder = new URL("../fixtures/python/", import.meta.url).pathname;
const skip = spawnSync("python3", ["--version"]).status === 0 ? false : "there is no python3 on this machine";

/** How the five reach the Hub, the app's own way to start each; and whether the app or they begin. */
const ways = {
  "over stdio": overStdio,
  "over HTTP, dialled by the Hub": dialled,
  "over HTTP, dialling in": diallingIn,
};

/** What each satellite saw: it writes every event it gets to stderr. */
let saw: Record<Kind, Event[]>;
let others: string[];

for (const [way, start] of Object.entries(ways)) {
  suite(`satellites of each kind in plain Python, written from the spec alone, ${way}`, { skip }, () => {
    behaves(() => oneRun(start));
  });
}

function behaves(run: () => Promise<void>): void {
  before(run);

  test("nobody is refused anything, and nothing but events comes out of them", () => {
    assert.deepEqual(others, []);
    for (const [kind, events] of Object.entries(saw)) assert.deepEqual(of(events, "bb_error"), [], kind);
  });

  test("each is granted what it asked for (CON-5)", () => {
    for (const [kind, events] of Object.entries(saw)) {
      const ack = own(events, "bb_sync_ack")[0];
      assert.deepEqual([ack?.["component_id"], ack?.["kind"], ack?.["primary"]], [kind, kind, true]);
      assert.deepEqual([ack?.["input_capable"], ack?.["controller"]], [kind === "ui", kind === "context"]);
    }
    assert.equal(of(saw.toolsource, "bb_tool_register_result")[0]!["success"], true);
  });

  test("the UI sees a turn with a tool call and a question, then the streamed answer, then one that it interrupts", () => {
    // An acknowledgement may come before or after what the reply led to.
    const shown = saw.ui.filter(({ event_type }) => event_type !== "bb_ack");
    const steps = shown.map(({ event_type, kind, state, status, outcome, stop_reason }) =>
      [event_type, kind ?? state ?? status ?? outcome, stop_reason]
        .filter((part) => typeof part === "string")
        .join(" "),
    );
    const turn = ["user_event", "scope_state running"];
    assert.deepEqual(steps, [
      "bb_sync_ack ui",
      "bb_live",
      ...turn,
      "infer_chunk block_start",
      "infer_chunk block_delta",
      "infer_chunk block_delta",
      "infer_chunk block_stop",
      "tool_call",
      "tool_progress",
      "input_strict",
      "input_resolved accepted",
      "tool_result ok",
      "infer_chunk block_start",
      "infer_chunk block_delta",
      "infer_chunk block_delta",
      "infer_chunk block_stop",
      "infer_chunk loop_done end_turn",
      "scope_state idle end_turn",
      ...turn,
      "infer_chunk block_start",
      "infer_chunk block_delta",
      "interrupt",
      "infer_chunk block_stop",
      "infer_chunk loop_done interrupted",
      "scope_state idle interrupted",
      "bb_bye",
    ]);
    const deltas = of(saw.ui, "infer_chunk").filter(({ block_type }) => block_type === "text");
    assert.equal(
      deltas.flatMap(({ delta }) => (typeof delta === "string" ? [delta] : [])).join("|"),
      "Done. |a.txt is there.|Once upon a time",
    );
    assert.deepEqual(of(saw.ui, "tool_call")[0]!["input"], { path: "a.txt" });
    assert.equal(of(saw.ui, "input_resolved")[0]!["by"], "ui");
    assert.deepEqual(
      of(saw.ui, "bb_ack").map(({ fate }) => fate),
      ["started", undefined, "started", undefined],
    );
  });

  test("the context renders each round, with all that was said before", () => {
    const renders = of(saw.context, "bb_context_render_request");
    assert.deepEqual(
      renders.map(({ round }) => round),
      [0, 1, 0],
    );
    assert.equal(renders[0]!["loop_id"], renders[1]!["loop_id"]);
    const history = renders[2]!["history"] as { role: string; content: { type: string }[] }[];
    const shape = history.map(({ role, content }) => [role, ...content.map(({ type }) => type)].join(" "));
    assert.deepEqual(shape, ["user text", "assistant tool_use", "user tool_result", "assistant text", "user text"]);
  });

  test("the infer is asked with the context's words, and told to stop", () => {
    const asked = of(saw.infer, "bb_infer_request");
    assert.deepEqual(
      asked.map(({ system, stream }) => [system, stream]),
      Array(3).fill(["Be brief.", true]),
    );
    assert.deepEqual(
      of(saw.infer, "bb_cancel").map(({ target, reason }) => [target, reason]),
      [[asked[2]!["id"], "enough"]],
    );
  });

  test("the toolsource gets one call, and the person's answer", () => {
    const [call, ...more] = of(saw.toolsource, "bb_tool_call_request");
    assert.deepEqual(more, []);
    assert.deepEqual(
      [call!["name"], call!["input"], call!["scope"]],
      ["create-user-file", { path: "a.txt" }, "u_7f3a"],
    );
    const { outcome, value } = of(saw.toolsource, "bb_input_result")[0]!;
    assert.deepEqual([outcome, value], ["accepted", "yes"]);
  });

  test("telemetry sees it all, as copies without a word of content (KND-4)", () => {
    const direct = saw.telemetry.filter(({ observed }) => observed !== true).map(({ event_type }) => event_type);
    assert.deepEqual(direct, ["bb_sync_ack", "bb_live", "bb_bye"]);
    for (const type of [
      "user_event",
      "bb_context_render_request",
      "bb_context_render_result",
      "bb_infer_request",
      "infer_chunk",
      "bb_infer_result",
      "bb_tool_call_request",
      "bb_tool_call_result",
      "input_strict",
      "interrupt",
      "bb_cancel",
    ]) {
      assert.ok(of(saw.telemetry, type).length > 0, type);
    }
    for (const copy of saw.telemetry)
      assert.doesNotMatch(JSON.stringify(copy), /ship it|long story|Be brief|a\.txt|Once upon|Done\. /);
  });
}

/** The UI fixture leads: when it has said bye, the app stops. */
async function oneRun(start: (hub: ByteBot, children: Children) => Promise<void>): Promise<void> {
  saw = { ui: [], context: [], infer: [], toolsource: [], telemetry: [] };
  others = [];
  const policy = [{ tool: "*", decision: "allow" as const }];
  await using children = new Children(hear);
  await using hub = new ByteBot({ base: folder, report: hear, policy });
  const bye = (async () => {
    const events = hub.events("*", { types: ["bb_bye"], signal: AbortSignal.timeout(DEADLINE_MS) });
    for await (const event of events) if (event["from"] === "ui") return;
    throw new Error(`the UI did not come to its end; it saw ${saw.ui.map(({ event_type }) => event_type).join(", ")}`);
  })();
  await Promise.all([start(hub, children), bye]);
}

const KINDS = ["context", "toolsource", "telemetry", "infer", "ui"] as const;

async function overStdio(hub: ByteBot): Promise<void> {
  const entry = (kind: Kind) => ({ type: "stdio" as const, command: ["python3", `${kind}.py`] });
  for (const kind of KINDS) hub.attach({ kind, name: kind, entry: entry(kind) }, { controller: kind === "context" });
  await hub.start();
}

async function dialled(hub: ByteBot, children: Children): Promise<void> {
  const token = randomUUID();
  const found = await Promise.all(
    KINDS.map((kind) => children.start(kind, { WIRE: "serve", BYTEBOT_TOKEN: token }).url),
  );
  for (const [index, kind] of KINDS.entries())
    hub.attach({ ref: found[index]!, kind, name: kind, token }, { controller: kind === "context" });
  await hub.start();
}

/** Each is there before the next comes: the UI, which speaks at once, is the last. */
async function diallingIn(hub: ByteBot, children: Children): Promise<void> {
  await hub.start();
  const url = await hub.serveHttp();
  const ready = hub.events("*", { types: ["bb_sync_ack", "bb_tool_register_result"] });
  for (const kind of KINDS) {
    const token = hub.addToken({ name: kind, kind, controller: kind === "context" });
    children.start(kind, { WIRE: url, BYTEBOT_TOKEN: token });
    const last = kind === "toolsource" ? "bb_tool_register_result" : "bb_sync_ack";
    for (;;) {
      const { value } = await ready.next();
      if ((value as Event).event_type === last) break;
    }
  }
}

function hear(line: string): void {
  const [, kind = "", text = ""] = /^(\w+): (\{.*)$/s.exec(line) ?? [];
  if (kind in saw) saw[kind as Kind].push(JSON.parse(text) as Event);
  else others.push(line);
}

/** Of telemetry: without its copies. */
function own(events: Event[], type: string): Event[] {
  return of(events, type).filter(({ observed }) => observed !== true);
}

function of(events: Event[], type: string): Event[] {
  return events.filter((event) => event.event_type === type);
}
