import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { DatabaseSync } from "node:sqlite";
import type { Entry, NewEntry } from "../../../src/log/index.ts";
import type { Event } from "../../../src/wire/index.ts";

const folder = mkdtempSync(join(tmpdir(), "bytebot-log-"));
// One test is another user, who may look into it.
chmodSync(folder, 0o711);
// A log that was closed a moment ago may still be taking its last file away.
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
let files = 0;

/** A path where there is no file, in a folder that goes with the tests. */
export function freshFile(): string {
  return join(folder, `${++files}.db`);
}

export function event(text: string): Event {
  return { event_type: "user_event", type: "message", scope: "u", text };
}

export function entry(id: string, ...texts: string[]): NewEntry {
  return { id, events: texts.map(event) };
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of items) found.push(each);
  return found;
}

export async function texts(entries: AsyncIterable<Entry>): Promise<unknown[]> {
  return (await all(entries)).flatMap(({ events }) => events.map(({ text }) => text));
}

/** As any SQLite tool would: to look into a file, or to spoil it. */
export function sql<Row>(file: string, ...statements: string[]): Row[] {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  try {
    return statements.map((statement) => db.prepare(statement).all() as Row[]).at(-1)!;
  } finally {
    db.close();
  }
}
