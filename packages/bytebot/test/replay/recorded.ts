import { Readable } from "node:stream";
import { readRecording, replay, type Replayed } from "../../src/replay/index.ts";
import { encode, type Event } from "../../src/wire/index.ts";
import {
  inferFailure,
  inferResult,
  message,
  register,
  textChunks,
  toolChunks,
  toolResult,
  World,
  type Peer,
  type WorldOptions,
} from "../hub/world.ts";

/** The durable events of a world, as the Hub stamped them. */
export async function logOf(world: World): Promise<Event[]> {
  const entries = await world.entries();
  return entries.flatMap(({ pos, cursor, events }) =>
    events.map((event, index) => ({ ...event, seq: pos * 256 + index, cursor: `${cursor}.${index}` })),
  );
}

export const toFile = (events: readonly Event[]): string => events.map((event) => encode(event)).join("");

/** In this process: what the command prints comes from it. */
export async function replayed(text: string, scope?: string): Promise<Replayed[]> {
  const recording = await readRecording(Readable.from([Buffer.from(text)]), scope);
  const all: Replayed[] = [];
  for await (const each of replay(recording, AbortSignal.timeout(60_000))) all.push(each);
  return all;
}

/** An infer, some tools and two people in one app. */
export class App {
  readonly world: World;
  infer!: Peer;
  tools!: Peer;
  ui!: Peer;

  private constructor(world: World) {
    this.world = world;
  }

  static async open(options: WorldOptions = {}): Promise<App> {
    const app = new App(new World({ policy: [{ tool: "erase", decision: "ask" }], ...options }));
    const { world } = app;
    app.infer = await world.join("infer");
    app.tools = await world.join("toolsource", { name: "files" });
    await app.tools.send(register("read", "write", "erase"));
    app.ui = await world.join("ui");
    return app;
  }

  /** The newest request. */
  get request(): Event {
    return this.infer.last("bb_infer_request");
  }

  async say(text: string, more: Record<string, unknown> = {}): Promise<void> {
    await this.ui.send(message(text, "u_7f3a", more));
  }

  async answer(text: string): Promise<void> {
    await this.infer.send(...textChunks(this.request, text), inferResult(this.request));
  }

  /** The model asks for these. Answers their requests, in order, where they run at once. */
  async call(...calls: [name: string, input: object][]): Promise<Event[]> {
    const { request } = this;
    const before = this.tools.all("bb_tool_call_request").length;
    const chunks = calls.flatMap(([name, input], index) => toolChunks(request, name, input, index));
    await this.infer.send(...chunks, inferResult(request, "tool_use"));
    return this.tools.all("bb_tool_call_request").slice(before);
  }
}

/** One conversation with all that happens in one, and another beside it. */
export async function everything(): Promise<Event[]> {
  const app = await App.open();
  const { world, tools, infer, ui } = app;
  await app.say("ship it");
  const [first, second, third] = await app.call(
    ["read", { path: "a" }],
    ["read", { path: "b" }],
    ["write", { path: "c" }],
  );
  const failed = { code: "not_found", message: "There is no file b.", retryable: false };
  await tools.send({ event_type: "bb_tool_call_result", call_id: second!["call_id"], success: false, error: failed });
  await ui.send(message("and quickly", "u_7f3a", { id: "m_steer", mode: "steer" }));
  await ui.send(message("meanwhile", "u_9", { id: "m_1" }));
  await tools.send(toolResult(first!, "what is in a"), toolResult(third!, "written"));
  const other = infer.all("bb_infer_request").find(({ scope }) => scope === "u_9")!;
  await infer.send(...textChunks(other, "Elsewhere."), inferResult(other));
  await app.answer("Shipped. \u001b[31mRed\u202e");
  await asks(app);
  await retries(app);
  await interrupted(app);
  const log = await logOf(world);
  await world.end();
  return log;
}

/** A tool asks the person; another one asks for approval; a third is silent. */
async function asks(app: App): Promise<void> {
  const { world, tools, ui } = app;
  await app.say("tidy up");
  const [write] = await app.call(["write", { path: "d" }]);
  const question = { event_type: "bb_input_request", id: "k_1", call_id: write!["call_id"], prompt: "Overwrite d?" };
  await tools.send({ ...question, options: ["no", "yes"] });
  const reply = (outcome: string, value?: unknown): Event => {
    const in_reply_to = ui.last("input_strict")["id"];
    return { event_type: "input_reply", in_reply_to, outcome, ...(value === undefined ? {} : { value }) };
  };
  await ui.send(reply("accepted", "yes"));
  await tools.send(toolResult(write!, "overwritten"));
  await app.call(["erase", { path: "e" }]);
  await ui.send(reply("declined"));
  await app.call(["erase", { path: "f" }], ["nothing", {}]);
  await ui.send(reply("accepted", "once"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "erased"));
  await app.call(["read", { path: "slow" }]);
  await world.pass(60_000);
  await app.answer("Tidy.");
}

async function retries(app: App): Promise<void> {
  const { infer, world } = app;
  await app.say("again");
  for (const wait of [500, 1000]) {
    await infer.send(...textChunks(app.request, "half"));
    await infer.send(inferFailure(app.request, { code: "overloaded", retryable: true }));
    await world.pass(wait);
  }
  await app.answer("At last.");
}

async function interrupted(app: App): Promise<void> {
  const { infer, ui, world } = app;
  await app.say("tell me everything");
  await app.say("and then more", { id: "m_queued" });
  const [start, delta] = textChunks(app.request, "To begin with");
  await infer.send(start!, delta!);
  await ui.send({ event_type: "interrupt", id: "s_1", scope: "u_7f3a", reason: "enough" });
  await world.pass(1000);
}
