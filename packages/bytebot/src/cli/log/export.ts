import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { BytebotError, encloses, PART_BYTES, type Event } from "../../wire/index.ts";
import type { About, EventLog } from "../../log/index.ts";
import { parse } from "../command.ts";
import { isUnread, unread } from "../output.ts";
import { printableJson } from "../printable.ts";
import { toScopes } from "./arguments.ts";
import { existing, reading } from "./database.ts";
import { stamped } from "./events.ts";

const options = { db: { type: "string" }, out: { type: "string" }, blobs: { type: "boolean" } } as const;

/** What an entry says beside its events, at the first of them that is exported. */
export interface EntryMark {
  /** Of this form of export: an import takes its own. */
  version?: number;
  cell: string;
  id: string;
  at: number;
  base?: true;
  open?: true;
  /** What lists say of its cell; with the first that is exported of it. */
  about?: About;
}

/** Of what `export` writes, raised when an older import would take it wrongly. */
export const EXPORT_VERSION = 1;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  const scope = toScopes(positionals[0]);
  const file = existing(values.db);
  const out = values.out === undefined ? process.stdout : await created(values.out);
  const write = async (value: object): Promise<void> => {
    if (out.write(`${printableJson(value)}\n`)) return;
    await once(out, "drain", { signal: unread }).catch((error: unknown) => {
      if (!isUnread()) throw error;
    });
  };
  await reading(file, (log) => exported(log, scope, write));
  if (values.blobs) await exportedBlobs(file, scope, write);
  if (values.out === undefined) return 0;
  out.end();
  await finished(out);
  return 0;
}

/** In the log's own order. */
async function exported(log: EventLog, scope: string, write: (event: Event) => Promise<void>): Promise<void> {
  const seen = new Set<string>();
  for await (const entry of log.readAll(0, [scope])) {
    const { cell, id, at, base, open } = entry;
    const about = seen.has(cell) ? undefined : await aboutOf(log, cell);
    seen.add(cell);
    const flags = { ...(base ? { base } : {}), ...(open ? { open } : {}), ...(about ? { about } : {}) };
    let mark: { _entry?: EntryMark } = { _entry: { version: EXPORT_VERSION, cell, id, at, ...flags } };
    for (const [index, event] of entry.events.entries()) {
      if (!encloses(scope, String(event["scope"]))) continue;
      await write({ ...stamped(event, entry, index), ...mark });
      mark = {};
      if (isUnread()) return;
    }
  }
}

async function aboutOf(log: EventLog, cell: string): Promise<About | undefined> {
  for await (const info of log.cells([cell])) if (info.cell === cell) return info.about;
  return undefined;
}

/** As they go over the wire, in parts. */
async function exportedBlobs(file: string, scope: string, write: (event: Event) => Promise<void>): Promise<void> {
  const { ReadConnection } = await import("../../log/sqlite/connection.ts");
  const { contentOf, piecesOf } = await import("../../log/sqlite/blob-reading.ts");
  const db = new ReadConnection(file);
  try {
    for (const blob of contentOf(db)) {
      if (!encloses(scope, blob.cell)) continue;
      let part = 0;
      let sent = 0;
      for (const piece of blob.size === 0 ? [new Uint8Array()] : piecesOf(db, blob)) {
        for (let at = 0; at === 0 || at < piece.length; at += PART_BYTES) {
          const bytes = Buffer.from(piece).subarray(at, at + PART_BYTES);
          sent += bytes.length;
          const { cell, ref, mimeType: mime_type } = blob;
          const data = bytes.toString("base64");
          await write({
            event_type: "bb_blob",
            id: ref,
            scope: cell,
            ref,
            mime_type,
            part,
            last: sent === blob.size,
            data,
          });
          part++;
          if (isUnread()) return;
        }
      }
    }
  } finally {
    db.close();
  }
}

/** A new file; what is there is never written over. */
async function created(path: string): Promise<Writable> {
  const stream = createWriteStream(path, { flags: "wx", mode: 0o600 });
  try {
    await once(stream, "open");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new BytebotError("conflict", `${path} is there already: name another file for --out`);
    throw new BytebotError("unavailable", `--out ${path} cannot be written: ${message}`);
  }
  return stream;
}
