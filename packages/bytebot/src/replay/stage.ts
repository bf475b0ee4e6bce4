import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { Hub, offer, type HubOptions, type Offer } from "../hub/index.ts";
import { MemoryLog } from "../log/index.ts";
import { inprocPair, type Link } from "../transport/index.ts";
import type { Block, BytebotError, Event } from "../wire/index.ts";
import { RecordedBlobs } from "./blobs.ts";
import { RecordedClock } from "./clock.ts";
import { isLogged, isShown, toLogged } from "./logged.ts";
import type { PlayedTool } from "./tools.ts";

/** So many turns of the event loop without a word of the Hub's, and it waits for somebody. */
const QUIET_TURNS = 4;

export interface Cast {
  tools: readonly PlayedTool[];
  context: { name: string; reason: string };
  /** What the app had set. */
  limits: NonNullable<HubOptions["limits"]>;
  calls: number;
  /** Content by reference that the recording names: its bytes are not there, and nobody reads them. */
  blobs: ReadonlyMap<string, Block>;
  /** Milliseconds since 1970, at the beginning. */
  time: number;
}

/** A real Hub over a real log, and everybody who took part in a recording: they say what they are told to. */
export class Stage {
  readonly clock: RecordedClock;
  /** Refusals and faults since the last time that somebody spoke. */
  complaints: string[] = [];
  /** The open render of each conversation. */
  readonly renders = new Map<string, string>();
  private readonly hub: Hub;
  private readonly cast: Cast;
  private readonly leaving = new AbortController();
  private readonly logged = new Map<number, Event>();
  private readonly tools = new Map<string, Link>();
  private readonly infers = new Map<string, Link>();
  /** Says what people and the app say. */
  private owner!: Link;
  /** Answers questions. */
  private listener: Link | undefined;
  private context!: Link;
  /** The places of `logged`, from `from` on. */
  private seqs: number[] = [];
  private from = 0;
  private unsorted = false;
  private taken = 0;
  private count = 0;

  private constructor(cast: Cast) {
    this.cast = cast;
    this.clock = new RecordedClock(cast.time);
    this.hub = new Hub({
      name: "replay",
      version: "0",
      log: new MemoryLog(),
      blobs: new RecordedBlobs(cast.blobs),
      clock: this.clock,
      limits: cast.limits,
      // How fast it goes, and beside what else it went, is not the recording's.
      quotas: { calls: cast.calls, events: Infinity, inferences: Infinity, conversations: Infinity },
      report: (line) => void (line.startsWith("fault") && this.complaints.push(line)),
    });
    this.hub.watch((event) => this.watch(event));
  }

  static async open(cast: Cast): Promise<Stage> {
    const stage = new Stage(cast);
    await stage.haveContext();
    stage.hub.expectContext(stage, ["*"]);
    await stage.haveTools();
    const silent = { owner: true, input_capable: false, types: [] };
    stage.owner = await stage.join("ui", { name: "person", owner: true, vouches: true }, silent);
    await stage.haveListener(true);
    await stage.settled();
    return stage;
  }

  /** A name that nobody has used. */
  newId(prefix: string): string {
    return `${prefix}_${++this.count}`;
  }

  asPerson(event: Event): void {
    this.owner.send(event);
  }

  asContext(event: Event): void {
    this.context.send(event);
  }

  asListener(event: Event): void {
    this.listener?.send(event);
  }

  asInfer(name: string, event: Event): void {
    this.infers.get(name)?.send(event);
  }

  asTool(modelName: string, event: Event): void {
    this.tools.get(modelName)?.send(event);
  }

  /** The infer, where it is not there: at the beginning, or after it was lost. */
  async haveInfer(name: string): Promise<void> {
    if (!this.infers.has(name)) this.infers.set(name, await this.join("infer", { name }, {}));
  }

  async loseInfer(name: string, reason: string): Promise<void> {
    const lost = this.infers.get(name);
    this.infers.delete(name);
    await lost?.close(reason);
  }

  /** Whether there is anybody who can be asked. */
  async haveListener(there: boolean): Promise<void> {
    if (there === (this.listener !== undefined)) return;
    const left = this.listener;
    this.listener = there
      ? await this.join("ui", { name: "listener", vouches: true }, { types: ["input_strict"] })
      : undefined;
    await left?.close("left");
  }

  /** Its connection is lost, and it comes back. */
  async loseContext(): Promise<void> {
    await this.context.close(this.cast.context.reason);
    await this.haveContext();
  }

  /** Its connection is lost; it is back when somebody else has spoken. */
  async loseTool(modelName: string): Promise<void> {
    const lost = this.tools.get(modelName);
    this.tools.delete(modelName);
    await lost?.close("lost");
  }

  async haveTools(): Promise<void> {
    if (this.tools.size === this.cast.tools.length) return;
    for (const [index, tool] of this.cast.tools.entries())
      if (!this.tools.has(tool.modelName)) await this.addTool(tool, index);
  }

  /** Takes tools away, or gives them back. */
  register(modelNames: ReadonlySet<string>, there: boolean): void {
    if (modelNames.size === 0) return;
    for (const { modelName, definition } of this.cast.tools) {
      if (!modelNames.has(modelName)) continue;
      const tools = there ? [definition] : [];
      this.asTool(modelName, { event_type: "bb_tool_register", id: this.newId("g"), tools });
    }
  }

  /** Until the Hub waits for somebody. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      await turnOfTheLoop();
      // Schemas are checked by another thread, in its own time.
      if (this.hub.counts()["checks"]! > 0) quiet = 0;
    }
  }

  /** The next event of the log, where it has come. */
  peek(): Event | undefined {
    const seq = this.nextSeq();
    return seq === undefined ? undefined : toLogged(this.logged.get(seq)!);
  }

  take(): void {
    const seq = this.nextSeq();
    if (seq === undefined) return;
    this.taken = seq;
    this.logged.delete(seq);
    this.from++;
    if (this.from < this.seqs.length) return;
    this.seqs = [];
    this.from = 0;
  }

  /** All that has come and was not taken. */
  rest(): Event[] {
    return [...this.logged].sort(([a], [b]) => a - b).map(([, event]) => toLogged(event));
  }

  async close(): Promise<void> {
    this.leaving.abort();
    await this.hub.close();
  }

  private nextSeq(): number | undefined {
    if (this.unsorted) this.seqs = this.seqs.slice(this.from).sort((a, b) => a - b);
    if (this.unsorted) this.from = 0;
    this.unsorted = false;
    return this.seqs[this.from];
  }

  private watch(event: Event): void {
    const { seq } = event as { seq?: number };
    if (seq === undefined || seq <= this.taken || !(isLogged(event) || isShown(event))) return;
    if (event.event_type === "bb_snapshot") return;
    const known = this.logged.get(seq);
    if (known && !isShown(known)) return;
    this.logged.set(seq, event);
    if (known) return;
    this.unsorted ||= seq < (this.seqs.at(-1) ?? 0);
    this.seqs.push(seq);
  }

  private async haveContext(): Promise<void> {
    const sync = { controller: false, capabilities: { history: { incremental: {} } } };
    this.context = await this.join("context", { name: this.cast.context.name }, sync);
  }

  private async addTool({ component, modelName, definition }: PlayedTool, index: number): Promise<void> {
    const link = await this.join("toolsource", { name: component, componentId: `tool-${index}` }, {});
    this.tools.set(modelName, link);
    link.send({ event_type: "bb_tool_register", id: this.newId("g"), tools: [definition] });
  }

  private async join(
    kind: NonNullable<Offer["kind"]>,
    fields: Partial<Offer> & { name: string },
    sync: object,
  ): Promise<Link> {
    let satellite!: Link;
    const receiver = {
      event: (event: Event) => this.hear(event),
      fault: (error: BytebotError) => void this.complaints.push(error.message),
      closed: () => undefined,
    };
    const from = offer({ componentId: fields.name, kind, ...fields });
    await this.hub.connect(
      from,
      async (hub) => {
        const pair = inprocPair(fields.name, hub, receiver);
        satellite = pair.satellite;
        return pair.hub;
      },
      this.leaving.signal,
    );
    satellite.send({ event_type: "bb_sync", kind, ...sync });
    return satellite;
  }

  private hear(event: Event): void {
    if (event.event_type === "bb_context_render_request") this.renders.set(String(event["scope"]), String(event["id"]));
    if (event.event_type === "bb_error") this.complaints.push(`${String(event["code"])}: ${String(event["message"])}`);
  }
}
