import { readFile, stat } from "node:fs/promises";
import type { z } from "zod";
import { BytebotError } from "../wire/index.ts";
import { jsonErrorAt } from "./jsontext.ts";

const MAX_BYTES = 1024 * 1024;

/** Throws BytebotError `not_found`, `too_large`, `unavailable` (unreadable), or `invalid_params` with line and column. */
export async function readJson(file: string): Promise<unknown> {
  const text = (await read(file)).replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch (cause) {
    const before = text.slice(0, jsonErrorAt(text));
    const line = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n");
    const rest = text.slice(before.length, before.length + 20).split("\n", 1)[0] ?? "";
    const found = before.length === text.length ? "the file ends too early" : `unexpected ${JSON.stringify(rest)}`;
    throw new BytebotError("invalid_params", `${file} is not JSON: ${found} at line ${line}, column ${column}`, {
      cause,
    });
  }
}

async function read(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) {
      throw new BytebotError(
        "too_large",
        `${file} has ${size} bytes; the limit is ${MAX_BYTES}: is it the right file?`,
      );
    }
    return await readFile(file, "utf8");
  } catch (cause) {
    if (cause instanceof BytebotError) throw cause;
    if (errnoOf(cause) === "ENOENT") throw new BytebotError("not_found", `there is no ${file}`, { cause });
    throw unreadable(file, cause);
  }
}

/** The value by its schema, or `invalid_params` naming the file and the first field that is wrong. */
export function parseAs<Schema extends z.ZodType>(schema: Schema, value: unknown, file: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new BytebotError("invalid_params", `${file}: ${describe(result.error.issues)}`);
}

/** One issue: a misspelt key first, since it causes others; inside a union, that of the form the value was nearest to. */
function describe(issues: readonly z.core.$ZodIssue[], path: readonly PropertyKey[] = []): string {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  if (!issue) return "it does not fit its schema";
  const where = [...path, ...issue.path];
  if (issue.code === "invalid_union") {
    const nearest = issue.errors.find((branch) =>
      branch.some((inner) => inner.path.length > 0 || inner.code !== "invalid_type"),
    );
    if (nearest) return describe(nearest, where);
  }
  return where.length === 0 ? issue.message : `"${where.map(String).join(".")}": ${issue.message}`;
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function unreadable(file: string, cause: unknown): BytebotError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BytebotError("unavailable", `cannot read ${file}: ${why}`, { cause });
}
