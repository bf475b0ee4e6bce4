import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ByteBot, MemoryLog, type Event, type EventLog } from "../../src/index.ts";
import { offer } from "../../src/hub/index.ts";
import { dialHttp, serveHttp, startInproc, type Kind, type Main } from "../../src/sdk/index.ts";
import { inprocPair, type Connect, type Link, type Receiver } from "../../src/transport/index.ts";
import { HIGH_WATER } from "../../src/wire/index.ts";
import type { Kept } from "../hub/restart.ts";
import { recorded, recordOf, type Line } from "./recorder.ts";
import type { Role, Script } from "./script.ts";

const DEADLINE_MS = 45_000;
const TOKEN = "transcripts";

/** How the satellites of a script reach the Hub. */
export const ways = [
  "in-proc",
  "stdio",
  "HTTP, dialled by the Hub",
  "HTTP, dialling in",
  "HTTP, dialling in, as SSE",
] as const;
export type Way = (typeof ways)[number];

/** What happened: the lines of each connection in order (of all of them, where all ran in this process), and the log. */
export interface Recording {
  lines: Line[];
  log: Event[];
  /** The same as entries: what a Hub that was killed then has left. */
  kept: Kept[];
  /** All that the Hub saw and did, as its owner sees it. */
  trace: Event[];
  /** What the app was told: nothing, where all went well. */
  reports: string[];
}

/** Plays a script, each satellite reached in this way; children write down their lines in `folder`. */
export async function play(script: Script, way: Way, folder = "", log: EventLog = new MemoryLog()): Promise<Recording> {
  await using stage = new Stage(script, way, folder, log);
  return await stage.play();
}

class Stage implements AsyncDisposable {
  private readonly script: Script;
  private readonly way: Way;
  private readonly folder: string;
  private readonly log: EventLog;
  private readonly hub: ByteBot;
  private readonly lines: Line[] = [];
  private readonly trace: Event[] = [];
  private readonly reports: string[] = [];
  /** Who has left, and whoever waits for it. */
  private readonly left = new Map<string, PromiseWithResolvers<Event>>();
  /** Types of events that somebody waits for. */
  private readonly passed = new Map<string, PromiseWithResolvers<void>>();
  private readonly over = new AbortController();
  private readonly ending: (() => Promise<unknown>)[] = [];

  constructor(script: Script, way: Way, folder: string, log: EventLog) {
    this.log = log;
    this.script = script;
    this.way = way;
    this.folder = folder;
    this.hub = new ByteBot({
      log: this.log,
      policy: [{ tool: "*", decision: "allow" }],
      ...script.app,
      report: (line) => this.reports.push(line),
    });
    for (const { name } of script.cast) {
      const left = Promise.withResolvers<Event>();
      left.promise.catch(() => undefined);
      this.left.set(name, left);
    }
  }

  async play(): Promise<Recording> {
    const watching = this.watch();
    const late = setTimeout(() => this.fail("it did not come to its end"), DEADLINE_MS);
    try {
      await this.hub.start();
      const url = this.way.startsWith("HTTP, dialling in") ? await this.hub.serveHttp() : "";
      for (const role of this.script.cast) {
        if (role.after !== undefined) await this.hasLeft(role.after);
        if (role.seen !== undefined) await this.hasSeen(role.seen);
        await this.connect(role, url, role.resumes === undefined ? {} : { cursor: await this.cursorOf(role.resumes) });
      }
      await this.hasLeft(this.script.cast.at(-1)!.name);
      const kept = await this.kept();
      const log = kept.flatMap(({ events }) => events);
      await this.hub.stop("the transcript is over");
      await watching;
      for (const { name } of this.way === "stdio" ? this.script.cast : [])
        this.lines.push(...(await this.linesOf(name)));
      return { lines: this.lines, log, kept, trace: this.trace, reports: this.reports };
    } finally {
      clearTimeout(late);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.over.abort();
    await this.hub.stop();
    for (const end of this.ending) await end();
  }

  /** Resolves when it can work. */
  private async connect(role: Role, url: string, opts: Record<string, unknown>): Promise<void> {
    const { name, kind, content = false, scopes } = role;
    const main = recorded(name, role.main, (line) => this.lines.push(line));
    const grant = { controller: kind === "context", content };
    switch (this.way) {
      case "in-proc":
        if (role.behind) return this.connectBehind(name, kind, main);
        await this.hub.attach({ name, kind, main, opts, scopes }, grant).ready;
        return;
      case "stdio": {
        const command = [process.execPath, join(import.meta.dirname, "play.ts"), this.folder, this.script.name, name];
        const entry = { type: "stdio" as const, command };
        await this.hub.attach({ name, kind, entry, opts, scopes }, grant).ready;
        return;
      }
      case "HTTP, dialled by the Hub": {
        // Whoever has left serves no more: a Hub dials what is elsewhere again.
        const once: Main = (start) => main(start).finally(() => setImmediate(() => void serving.close()));
        const serving = await serveHttp(once, { opts, token: TOKEN });
        this.ending.push(() => serving.close());
        const entry = { type: "http" as const, stream: `${serving.url}/stream`, inbox: `${serving.url}/inbox` };
        await this.hub.attach({ name, kind, entry, scopes, token: TOKEN }, grant).ready;
        return;
      }
      default: {
        const format = this.way === "HTTP, dialling in, as SSE" ? "sse" : "ndjson";
        const token = this.hub.addToken({ name, kind, scopes, ...grant });
        const ready = this.sees((event) =>
          kind === "toolsource" ? event.event_type === "bb_tool_register_result" : event["component_id"] === name,
        );
        // Who has left, or was left, does not come back by itself.
        const left = new AbortController();
        const once: Main = (start) => main(start).finally(() => setImmediate(() => left.abort()));
        const dialling = dialHttp(once, {
          url,
          token,
          format,
          opts,
          signal: AbortSignal.any([this.over.signal, left.signal]),
        });
        dialling.catch((error: unknown) => this.fail(`${name}: ${String(error)}`));
        this.ending.push(() => dialling.catch(() => undefined));
        await ready;
      }
    }
  }

  /** Past the app, whose ways to reach a component all keep up as long as we do. */
  private async connectBehind(name: string, kind: Kind, main: Main): Promise<void> {
    const { signal } = this.over;
    const connect: Connect = (receiver) =>
      new Promise((resolve, reject) => {
        const satellite = (far: Receiver): Link => {
          const pair = inprocPair(name, receiver, far);
          resolve(behind(pair.hub));
          return pair.satellite;
        };
        startInproc(main, { name, opts: {}, signal, connect: satellite }).catch(reject);
      });
    const attached = await this.hub["hub"].connect(offer({ componentId: name, name, kind }), connect, signal);
    await attached.ready;
  }

  private async sees(wanted: (event: Event) => boolean): Promise<void> {
    for await (const event of this.hub.events()) if (wanted(event)) return;
  }

  private async watch(): Promise<void> {
    for await (const event of this.hub.events()) {
      this.trace.push(event);
      this.passed.get(event.event_type)?.resolve();
      if (event.event_type === "bb_bye") this.left.get(String(event["from"]))?.resolve(event);
    }
  }

  private async hasSeen(type: string): Promise<void> {
    const passed = Promise.withResolvers<void>();
    this.passed.set(type, passed);
    if (this.trace.some(({ event_type }) => event_type === type)) passed.resolve();
    await Promise.race([passed.promise, this.hasLeft(this.script.cast.at(-1)!.name)]);
  }

  private async hasLeft(name: string): Promise<void> {
    const { reason } = await this.left.get(name)!.promise;
    if (!String(reason).endsWith("its main returned")) throw new Error(`${name} has failed: ${String(reason)}`);
  }

  private async cursorOf(name: string): Promise<string> {
    const lines = this.way === "stdio" ? await this.linesOf(name) : this.lines.filter(({ role }) => role === name);
    const cursors = lines.flatMap(({ way, event }) => (way === "got" ? [event["cursor"]] : []));
    return cursors.findLast((cursor) => typeof cursor === "string") as string;
  }

  private fail(why: string): void {
    const { name, cast } = this.script;
    const error = new Error(
      `${name}, ${this.way}: ${why}; ${this.trace.length} events, the last ${JSON.stringify(this.trace.at(-1))}; ${this.reports.join("; ")}`,
    );
    for (const each of cast) this.left.get(each.name)!.reject(error);
  }

  private fileOf(name: string): string {
    return recordOf(this.folder, this.script.name, name);
  }

  private async linesOf(name: string): Promise<Line[]> {
    const text = await readFile(this.fileOf(name), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  }

  /** What the log holds, each event with its place. */
  private async kept(): Promise<Kept[]> {
    const kept: Kept[] = [];
    for await (const entry of this.log.readAll(0, ["*"])) {
      const place = (index: number) => ({ seq: entry.pos * 256 + index, cursor: `${entry.cursor}.${index}` });
      kept.push({ ...entry, events: entry.events.map((event, index) => ({ ...event, ...place(index) })) });
    }
    return kept;
  }
}

/** It takes everything, and never says so. */
function behind(link: Link): Link {
  return {
    name: link.name,
    buffered: HIGH_WATER,
    send: (event) => link.send(event),
    drained: () => Promise.withResolvers<void>().promise,
    limit: (limits) => link.limit(limits),
    close: (reason) => link.close(reason),
  };
}
