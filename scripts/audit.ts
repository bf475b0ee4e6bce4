/**
 * Loaded into every test file and the programs that the tests of the CLI start (--import): the log of every Hub that is
 * closed has to pass the invariants of packages/bytebot/test/hub/invariants.ts, a Hub that would start on it has to come to
 * what this one had come to (test/hub/recalled.ts), and every Hub that was used has to be
 * closed. It wraps the class as its file is read, in the sources and in what was built of them: no test can forget it.
 */
import { registerHooks } from "node:module";
import type { EventLog, Entry } from "../packages/bytebot/src/log/index.ts";
import type { Remembering } from "../packages/bytebot/test/hub/recalled.ts";
import type { Hub } from "../packages/bytebot/src/hub/index.ts";

/** What the wrapper needs of a Hub. */
interface Audited {
  connect: Hub["connect"];
  close: Hub["close"];
  log: EventLog;
  core: Remembering;
}

/** Those in use, and where their logs refused an entry for good. */
const open = new Map<Audited, Map<string, number[]>>();
/** A Hub that was closed refuses what it is asked. */
const closed = new WeakSet<Audited>();

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!/\/packages\/bytebot\/(?:src|dist)\/hub\/hub\.[jt]s$/.test(url)) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array | string).toString();
    return { ...loaded, source: `${source}\nglobalThis[Symbol.for("bytebot.audit")](Hub);\n` };
  },
});

Object.assign(globalThis, { [Symbol.for("bytebot.audit")]: audit, [Symbol.for("bytebot.killed")]: killed });

/** The simulation has killed it in the middle of something: it is never closed, and its log is its successor's. */
function killed(hub: Audited): void {
  open.delete(hub);
  closed.add(hub);
}

function audit(Class: { prototype: Audited }): void {
  const { connect, close } = Class.prototype;
  Class.prototype.connect = function (this: Audited, ...args) {
    if (!open.has(this) && !closed.has(this)) open.set(this, gapsOf(this.log));
    return connect.apply(this, args);
  };
  Class.prototype.close = async function (this: Audited) {
    const gaps = open.get(this) ?? new Map<string, number[]>();
    open.delete(this);
    closed.add(this);
    const { log } = this;
    const end = log.close.bind(log);
    // The Hub closes its log last: everything that it has to append is there.
    log.close = async () => {
      const { checkLog } = await import("../packages/bytebot/test/hub/invariants.ts");
      const { checkRecalled } = await import("../packages/bytebot/test/hub/recalled.ts");
      const entries = await all(log);
      checkLog(whole(entries), { finished: false, graceMs: Infinity, gaps });
      checkRecalled(this.core, entries, new Set(gaps.keys()));
      await end();
    };
    await close.call(this);
  };
}

/** What was open in a cell whose log refuses an entry is given up, unlogged (rule LOG-4). */
function gapsOf(log: EventLog): Map<string, number[]> {
  const gaps = new Map<string, number[]>();
  const append = log.append.bind(log);
  log.append = async (cell, expected, entry) => {
    try {
      return await append(cell, expected, entry);
    } catch (error) {
      if ((error as { retryable?: boolean }).retryable !== true) gaps.set(cell, [...(gaps.get(cell) ?? []), expected]);
      throw error;
    }
  };
  return gaps;
}

async function all(log: EventLog): Promise<(Entry & { cell: string })[]> {
  const entries: (Entry & { cell: string })[] = [];
  for await (const entry of log.readAll(0, ["*"])) entries.push(entry);
  return entries;
}

function whole(entries: (Entry & { cell: string })[]): (Entry & { cell: string })[] {
  // A cell that was trimmed has ends without their beginnings: what is left of it proves nothing.
  const trimmed = new Set<string>();
  const seen = new Set<string>();
  for (const { cell, pos } of entries) {
    if (!seen.has(cell) && pos > 1) trimmed.add(cell);
    seen.add(cell);
  }
  return entries.filter(({ cell }) => !trimmed.has(cell));
}

process.on("exit", () => {
  if (open.size === 0 || process.exitCode !== undefined) return;
  console.error(`${open.size} Hubs were used and not closed, so nobody checked their logs: close them in the test`);
  process.exitCode = 1;
});
