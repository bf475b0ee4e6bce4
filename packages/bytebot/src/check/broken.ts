import type { BytebotError } from "../wire/index.ts";

/** Which rule a line breaks that is no event. */
export function ruleBrokenBy(bytes: Uint8Array, fault: BytebotError): string {
  if (fault.code === "too_large") return "FRM-6";
  if (!isUtf8(bytes)) return "FRM-1";
  const text = Buffer.from(bytes).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (/[:,[]\s*(?:NaN|-?Infinity)\b/.test(text)) return "FRM-7";
    // What begins like JSON was meant as an event, and was cut in two. Anything else was printed.
    return /^\s*[{[]/.test(text) ? "FRM-1" : "FRM-11";
  }
  if (typeof value !== "object" || value === null) return "FRM-11";
  if (Array.isArray(value)) return "FRM-1";
  const record = value as Record<string, unknown>;
  if (typeof record["event_type"] !== "string" || record["event_type"] === "") return "ENV-1";
  const damaged = Object.values(record).some(
    (field) => typeof field === "string" && (!field.isWellFormed() || field.includes("\0")),
  );
  return damaged ? "FRM-8" : "FRM-7";
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
