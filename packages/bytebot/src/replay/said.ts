import type { Event, WireError } from "../wire/index.ts";
import { firstText } from "./logged.ts";

/** What the Hub says in the place of a result or an answer: in the log it is all that tells why there was none. */
export const NO_SCHEMA = "The arguments do not fit the tool's schema.";
const NOT_CHECKED = "The arguments could not be checked, so it did not run: the schema of ";
const NOT_OFFERED = /^There is no tool ".*" in this request\.$/s;
const REMOVED = /^The tool ".*" was removed or changed since it was (offered|asked for)\.$/s;
const LOST = /^The connection to (.*) was lost\. /s;
const GONE = /^(.*?) is gone: (.*)$/s;

/** Did the Hub refuse these arguments by the tool's schema? */
export function isOfSchema(result: Event): boolean {
  const text = firstText(result);
  const said = text.startsWith(NO_SCHEMA) || text.startsWith(NOT_CHECKED);
  return said && result["synthetic"] === true && result["status"] === "error";
}

export function isNotOffered(result: Event): boolean {
  return result["synthetic"] === true && NOT_OFFERED.test(firstText(result));
}

/** Since when a tool was gone that a call was of. */
export function removedSince(result: Event): "offered" | "asked for" | undefined {
  const found = result["synthetic"] === true ? REMOVED.exec(firstText(result)) : null;
  return found?.[1] as "offered" | "asked for" | undefined;
}

/** The component whose connection was lost in a call. */
export function lostBy(result: Event): string | undefined {
  return result["status"] === "lost" ? LOST.exec(firstText(result))?.[1] : undefined;
}

/** Whose connection was lost, and how, where an answer or a turn ended with it. */
export function goneOf(event: Event): { name: string; reason: string } | undefined {
  const { error, synthetic, kind } = event as { error?: WireError; synthetic?: boolean; kind?: string };
  const isHubs = synthetic === true || kind === "loop_done";
  const found = isHubs && error?.code === "unavailable" ? GONE.exec(error.message) : null;
  return found ? { name: found[1]!, reason: found[2]! } : undefined;
}
