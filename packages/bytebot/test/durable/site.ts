import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { withLargeEvents, type Entry } from "../../src/log/index.ts";
import { SqliteReader } from "../../src/log/sqlite/reader.ts";
import { verifySqlite } from "../../src/log/sqlite/verify.ts";
import * as bb from "../../src/sdk/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { checkLog } from "../hub/invariants.ts";
import type { HubOptions, Moment } from "./hub.ts";

const HUB = fileURLToPath(new URL("hub.ts", import.meta.url));
const NAMES = ["infer", "tools", "ui", "late"] as const;
export type Name = (typeof NAMES)[number];

/** A place where a Hub lives, dies and is started again, on one file and one port; who dials in survives it. */
export class Site {
  readonly file: string;
  hub!: HubProcess;
  /** How many Hubs there were. */
  lives = 0;
  private port = 0;
  private readonly options: Partial<HubOptions>;
  private readonly crew = new Map<Name, bb.Main>();
  /** Ends who has dialled in to the Hub that is there. */
  private stop = new AbortController();
  private dialling: Promise<void>[] = [];

  constructor(t: TestContext, options: Partial<HubOptions> = {}) {
    this.options = options;
    const folder = mkdtempSync(join(tmpdir(), "bytebot-durable-"));
    this.file = options.file ?? join(folder, "log.db");
    t.after(async () => {
      this.stop.abort();
      await Promise.allSettled([...this.dialling, this.hub?.kill()]);
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** A Hub on the file, the first or the next. `more`: other options than the one before had. */
  async up(more: Partial<HubOptions> = {}): Promise<HubProcess> {
    const { file, port } = this;
    // What failed in one attempt is tried again at once: nobody waits for a provider here.
    const limits = { retryMs: 1, ...this.options.limits, ...more.limits };
    this.hub = new HubProcess({ file, names: NAMES, ...this.options, ...more, port, limits });
    this.port = Number(new URL(await this.hub.listening).port);
    // By itself whoever has lost Hub after Hub waits longer and longer before it dials: not here.
    this.stop.abort();
    this.stop = new AbortController();
    this.lives++;
    for (const [name, main] of this.crew) this.connect(name, main);
    return this.hub;
  }

  /** Dials in, to this Hub and those after it. */
  dial(name: Name, main: bb.Main): void {
    this.crew.set(name, main);
    this.connect(name, main);
  }

  /** It has left, and does not dial the next Hub. */
  leaves(name: Name): void {
    this.crew.delete(name);
  }

  /** All that a UI is shown which joins now, up to where it is live. Rejects with the Hub's refusal. */
  async look(resume: string | string[]): Promise<Event[]> {
    const seen: Event[] = [];
    const main: bb.Main = async () => {
      const satellite = await bb.sync({ kind: "ui", resume });
      satellite.on("*", (event) => void seen.push(event));
      satellite.on("bb_live", () => satellite.close());
      await satellite.start();
    };
    await bb.dialHttp(main, { url: this.url, token: "late-token" });
    return seen;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Nobody dials any more; the Hub has ended as its owner ends it. */
  async down(): Promise<void> {
    this.stop.abort();
    await this.hub.stop();
    await Promise.all(this.dialling);
  }

  private connect(name: Name, main: bb.Main): void {
    this.dialling.push(bb.dialHttp(main, { url: this.url, token: `${name}-token`, signal: this.stop.signal }));
  }

  async entries(): Promise<(Entry & { cell: string })[]> {
    const log = withLargeEvents(new SqliteReader(this.file));
    const found: (Entry & { cell: string })[] = [];
    for await (const entry of log.readAll(0, ["*"])) found.push(entry);
    await log.close();
    return found;
  }

  async events(): Promise<Event[]> {
    return (await this.entries()).flatMap(({ events }) => [...events]);
  }

  /** The log holds all that holds of any, and its file is whole: `finished`, all that began has ended. */
  async check(finished = true): Promise<Event[]> {
    const entries = await this.entries();
    checkLog(entries, { finished, graceMs: Infinity });
    assert.deepEqual([...verifySqlite(this.file)], []);
    return entries.flatMap(({ events }) => [...events]);
  }
}

/** One life of a Hub. */
export class HubProcess {
  readonly child: ChildProcess;
  readonly listening: Promise<string>;
  readonly ended: Promise<NodeJS.Signals | number | null>;
  err = "";
  private armed = Promise.withResolvers<void>();

  constructor(options: HubOptions) {
    this.child = spawn(process.execPath, [HUB, JSON.stringify(options)], { stdio: "pipe" });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.listening = promise;
    promise.catch(() => undefined);
    this.child.stdin!.on("error", () => undefined);
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.err += text));
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      if (line === "armed") this.armed.resolve();
      else resolve(line.replace("listening ", ""));
    });
    this.ended = new Promise((done) =>
      this.child.on("close", (code, signal) => {
        reject(new Error(`the Hub ended before it listened: ${this.err}`));
        done(signal ?? code);
      }),
    );
  }

  /** It dies at this append from now on. */
  async dies(moment: Moment, at: number): Promise<void> {
    this.armed = Promise.withResolvers();
    this.child.stdin!.write(`${moment} ${at}\n`);
    await this.armed.promise;
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  async stop(): Promise<void> {
    this.child.stdin!.end();
    assert.equal(await this.ended, 0, this.err);
  }
}
