import { BytebotError, defineTool } from "bytebot/sdk";
import { z } from "zod";

export const currentTime = defineTool({
  name: "current_time",
  description:
    'Tells the current date and time. Examples: "What time is it?" = {}; "What day is today?" = {}; "Tell me the date." = {}',
  input: z.object({
    timezone: z.string().optional().describe(`IANA name, as in "Europe/Paris"; leave it out for the local time.`),
  }),
  annotations: { read_only: true },
  run: ({ timezone }) => timeIn(timezone, new Date()),
});

/** As in "Monday, 30 November 2026 at 04:07:31 GMT+1 (Europe/Paris)". */
export function timeIn(timezone: string | undefined, now: Date): string {
  let format: Intl.DateTimeFormat;
  try {
    // A model often writes an empty text for what it leaves out.
    const timeZone = timezone?.trim() || undefined;
    format = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", ...(timeZone && { timeZone }) });
  } catch (cause) {
    const message = `there is no time zone ${JSON.stringify(timezone)}: give an IANA name, as in "Europe/Paris" or "UTC"`;
    throw new BytebotError("invalid_params", message, { cause });
  }
  return `${format.format(now)} (${format.resolvedOptions().timeZone})`;
}
