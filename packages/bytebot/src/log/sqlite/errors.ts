import { BytebotError, type WireError } from "../../wire/errors.ts";

/** Result codes of SQLite, without their extension. */
const [BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 6, 7, 8, 10, 11, 13, 14, 26];

/** What is wrong, and whether the same may work later. */
const causes = new Map<number, { what: string; retryable: boolean }>([
  [BUSY, { what: "another program is writing to it: end its transaction", retryable: true }],
  [LOCKED, { what: "another program is writing to it: end its transaction", retryable: true }],
  [NOMEM, { what: "there is not enough memory", retryable: true }],
  [
    READONLY,
    { what: "it cannot be written: give this user the right to write to the file and its folder", retryable: true },
  ],
  [IOERR, { what: "the disk failed", retryable: true }],
  [FULL, { what: "there is no room left: free some, or prune it", retryable: true }],
  [CANTOPEN, { what: "it cannot be opened: see to its folder, and the rights to both", retryable: true }],
  [CORRUPT, { what: "the file is damaged: `bytebot log verify` says where", retryable: false }],
  [NOTADB, { what: "it is not an SQLite file, or its beginning is damaged", retryable: false }],
]);

/** SQLite's own code, with its extension; undefined where it is no error of SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  return typeof code === "number" ? code : undefined;
}

/** An error of the engine as the one that its caller is told: `unavailable`, with the cause in words. */
export function toLogError(error: unknown, file: string): BytebotError {
  if (error instanceof BytebotError) return error;
  const code = sqliteCode(error);
  const said = error instanceof Error ? error.message : String(error);
  const cause = code === undefined ? undefined : causes.get(code & 0xff);
  if (!cause) return new BytebotError("unavailable", `the log ${file}: ${said}`, { cause: error });
  return new BytebotError("unavailable", `the log ${file}: ${cause.what} (SQLite ${code}: ${said})`, {
    retryable: cause.retryable,
    cause: error,
  });
}

/** The connection is of no use any more: what it knows of the file may be wrong. */
export function spoilsConnection(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && code !== BUSY && code !== FULL;
}

/** May a batch have failed because of one of its parts alone? */
export function concernsOnePart(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === undefined || !causes.get(code & 0xff)?.retryable;
}

/** Between threads. */
export type Refusal = WireError;

/** What is wrong with an entry that is there: it is never read as something else. */
export function damaged(what: string, file: string): BytebotError {
  return new BytebotError("internal", `${what} in ${file} is damaged: \`bytebot log verify\` lists all that is`);
}
