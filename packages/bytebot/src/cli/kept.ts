import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { tokensBeside } from "../app/token-file.ts";
import { openSqliteLog, type BlobStore, type EventLog } from "../log/index.ts";
import type { App } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { report } from "./output.ts";

/** Where an app keeps its log: `undefined` in memory. */
export interface Kept {
  log?: EventLog;
  blobs?: BlobStore;
  /** The file of the tokens that are made while it runs. */
  tokens?: string;
}

/** On the command line: a file, or none at all. */
export const keptOptions = { db: { type: "string" }, memory: { type: "boolean" } } as const;

export interface KeptValues {
  db?: string | undefined;
  memory?: boolean | undefined;
}

/** The log that an app file names, or bytebot.db beside it; what the command line says comes first. */
export function fileOf({ base, log }: Pick<App, "base" | "log">, { db, memory }: KeptValues): string | undefined {
  if (db !== undefined) return resolve(db);
  if (memory || log === "memory") return undefined;
  return resolve(base, log ?? "bytebot.db");
}

/** Of a chat without an app file: one for each folder that is worked in. */
export function fileOfFolder(folder: string): string {
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  const mark = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  return join(state, "bytebot", `${basename(folder) || "root"}-${mark}.db`);
}

/** Opens it. Rejects with what is wrong and the fix. */
export async function openKept(file: string | undefined): Promise<Kept> {
  return file === undefined ? {} : { ...(await openSqliteLog({ file })), tokens: tokensBeside(file) };
}

/** Makes the app on what was opened, which is closed again where that fails. */
export async function withKept<T>(kept: Kept, make: (kept: Kept) => T): Promise<T> {
  try {
    return make(kept);
  } catch (error) {
    await kept.blobs?.close();
    await kept.log?.close();
    throw error;
  }
}

/** The same where nobody chose the file: what cannot be kept on the disk is kept in memory, and said. */
export async function openOwn(file: string): Promise<Kept> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    return await openKept(file);
  } catch (error) {
    const { code, message } = BytebotError.from(error);
    const other = code === "conflict" ? "; bytebot chat --join opens another screen on that one" : "";
    report(`this conversation is kept in memory alone, and ends with it: ${message}${other}`);
    return {};
  }
}
