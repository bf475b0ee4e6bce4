import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";

export type Wire = { event_type: string; [field: string]: unknown };

const DEADLINE_MS = 20_000;
const MAIN = fileURLToPath(new URL("../../../packages/bytebot/dist/cli/main.js", import.meta.url));
/** Its Hubs are checked like those of any test. */
const AUDIT = new URL("../../../scripts/audit.ts", import.meta.url).href;
const fixture = (name: string) => fileURLToPath(new URL(`fixture/${name}`, import.meta.url));

export interface Start {
  opts?: Record<string, unknown>;
  /** On a pseudo-terminal of this size; undefined: on pipes. */
  terminal?: { columns: number; rows: number };
  /** satellite.ts: the test is the Hub. app.ts: a whole app with a Hub of its own. */
  program?: "satellite.ts" | "app.ts";
  /** Instead of a program of ours: `bytebot` with these arguments. */
  bytebot?: string[];
  env?: Record<string, string>;
  /** What the app keeps its log in: it is there again when it is started anew. */
  file?: string;
  /** What the conversation has when the satellite joins. */
  past?: Wire;
}

/** The chat satellite in a process of its own, on a terminal or on pipes; the test is the Hub at the end of its wire. */
export class Chat {
  /** Everything written to the screen (or to stdout), as it was written. */
  output = "";
  stderr = "";
  /** What the satellite sent. */
  readonly received: Wire[] = [];
  synced = false;
  /** What its bb_sync said. */
  asks: Omit<Wire, "event_type"> = {};
  /** How often it has asked for what was said before. */
  asked = 0;
  private readonly past: Wire;
  private readonly child: ChildProcess;
  private readonly wire: Duplex;
  private readonly watchers = new Set<() => void>();
  private exited: number | undefined;

  constructor(test: TestContext, start: Start) {
    const { opts = {}, terminal, program: run = "satellite.ts", file, past, bytebot } = start;
    this.past = past ?? { event_type: "bb_history_result", success: true, events: [], more: false };
    const own = [fixture(run), JSON.stringify(opts), ...(file === undefined ? [] : [file])];
    const command = [process.execPath, ...(bytebot ? ["--import", AUDIT, MAIN, ...bytebot] : own)];
    const python = terminal && ["python3", fixture("terminal.py"), String(terminal.columns), String(terminal.rows)];
    const [program = "", ...args] = [...(python ?? []), ...command];
    const env = { ...process.env, NODE_NO_WARNINGS: "1", CI: "", FORCE_COLOR: "0", ...start.env };
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe", "pipe"], env });
    this.wire = this.child.stdio[3] as Duplex;
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.changed(() => (this.output += text)));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => this.changed(() => (this.stderr += text)));
    this.child.on("close", (code) => this.changed(() => (this.exited = code ?? -1)));
    this.wire.on("error", () => undefined); // it ends with its process
    this.listen();
    test.after(() => this.child.kill());
  }

  /** What the person reads: without the terminal's commands. */
  get screen(): string {
    return stripVTControlCharacters(this.output);
  }

  type(text: string): void {
    this.child.stdin?.write(text);
  }

  endInput(): void {
    this.child.stdin?.end();
  }

  /** Closes our end of its stdout. */
  stopReading(): void {
    this.child.stdout?.destroy();
  }

  /** The Hub dies, and the chat with it. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.until(() => this.exited !== undefined, "the end");
  }

  send(...events: Wire[]): void {
    for (const event of events) this.wire.write(`${JSON.stringify({ scope: "local", ...event })}\n`);
  }

  /** Ends the wire, as a Hub does that dies. */
  cut(): void {
    this.wire.end();
  }

  /** A signal to the satellite's own process. */
  signal(name: NodeJS.Signals): void {
    const line = /\{"pid": (\d+)\}/.exec(this.stderr);
    process.kill(line ? Number(line[1]) : this.child.pid!, name);
  }

  /** The next event of this type that the satellite sent, or sends within the deadline. */
  async next(type: string): Promise<Wire> {
    await this.until(() => this.received.some((event) => event.event_type === type), `the event ${type}`);
    const index = this.received.findIndex((event) => event.event_type === type);
    return this.received.splice(index, 1)[0]!;
  }

  /** Waits until the screen shows this, after what was there when `from` was measured. */
  async shows(text: string, from = 0): Promise<void> {
    await this.until(() => this.screen.slice(from).includes(text), `"${text}" on the screen`);
  }

  /** The terminal is in raw mode, and keys are listened for. */
  async ready(): Promise<void> {
    await this.until(() => this.output.includes("\u001b[?2004h"), "the input line");
  }

  /** How it ended; `restored`: the terminal's settings are what they were, its cursor is shown, a paste is plain again. */
  async exit(): Promise<{ code: number; restored: boolean }> {
    await this.until(() => this.exited !== undefined, "the exit");
    const told = /\{"exit": (-?\d+), "restored": (true|false)\}/.exec(this.stderr);
    const off = (on: string, back: string) => this.output.lastIndexOf(on) <= this.output.lastIndexOf(back);
    const modes = off("\u001b[?25l", "\u001b[?25h") && off("\u001b[?2004h", "\u001b[?2004l");
    return { code: told ? Number(told[1]) : this.exited!, restored: told?.[2] !== "false" && modes };
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const check = () => condition() && resolve();
    const state = () =>
      `${what} did not come.\nscreen: ${JSON.stringify(this.screen.slice(-3000))}\nstderr: ${this.stderr}\nwire: ${JSON.stringify(this.received)}`;
    const timer = setTimeout(() => reject(new Error(state())), DEADLINE_MS);
    this.watchers.add(check);
    check();
    await promise.finally(() => {
      clearTimeout(timer);
      this.watchers.delete(check);
    });
  }

  /** Takes an input as the Hub does: acknowledged, echoed, running under this loop. */
  async takes(loopId: string, fate = "started"): Promise<Wire> {
    const input = await this.next("user_event");
    this.send({ event_type: "bb_ack", in_reply_to: input["id"], fate }, input);
    if (fate === "started") this.send({ event_type: "scope_state", state: "running", loop_id: loopId });
    return input;
  }

  private listen(): void {
    let rest = "";
    this.wire.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.takesIn(JSON.parse(line) as Wire);
    });
  }

  private takesIn(event: Wire): void {
    if (event.event_type === "bb_history_request") {
      this.asked++;
      return this.send({ ...this.past, in_reply_to: event["id"] });
    }
    if (event.event_type !== "bb_sync") return this.changed(() => this.received.push(event));
    const { name: _, ...asked } = event;
    this.asks = asked;
    const limits = { line_bytes: 1 << 20, values: 10_000, depth: 64 };
    const hub = { name: "test", version: "0" };
    this.send({ ...asked, event_type: "bb_sync_ack", component_id: "ui-1", controller: false, limits, hub });
    this.changed(() => (this.synced = true));
  }

  private changed(change: () => unknown): void {
    change();
    for (const check of this.watchers) check();
  }
}

/** An answer in one block, and its end, as the Hub shows them. */
export function answer(loopId: string, text: string): Wire[] {
  const at = { event_type: "infer_chunk", loop_id: loopId, round: 0, attempt: 0 };
  return [
    { ...at, kind: "block_start", index: 0, block_type: "text" },
    { ...at, kind: "block_delta", index: 0, block_type: "text", delta: text },
    { ...at, kind: "block_stop", index: 0, block: { type: "text", text } },
    ...done(loopId),
  ];
}

export function done(loopId: string, end: object = { stop_reason: "end_turn" }): Wire[] {
  return [
    { event_type: "infer_chunk", kind: "loop_done", loop_id: loopId, ...end },
    { event_type: "scope_state", state: "idle" },
  ];
}
