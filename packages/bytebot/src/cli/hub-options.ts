import { z } from "zod";
import type { ByteBotOptions } from "../app/bytebot.ts";
import { AppFile, known } from "../resolve/appfile.ts";
import { parseAs } from "../resolve/jsonfile.ts";
import { UsageError } from "./errors.ts";

const amount = z.number({ error: "a number from 0 on is needed" }).min(0).optional();
const count = z.int({ error: "a whole number from 1 on is needed" }).min(1).optional();

/** What of an app's options its owner may say, as `--options` JSON. */
const HubOptions = known({
  input: AppFile.shape.input,
  retention: AppFile.shape.retention,
  // Nothing on the wire says that what waits shall go on.
  recovery: z.enum(["resume", "end"], { error: `"resume" or "end" is needed` }).optional(),
  budgets: z
    .record(
      z.string(),
      known({
        tokens: amount,
        cost: amount,
        turns: amount,
        calls: amount,
        per: z.enum(["hour", "day", "month"], { error: `"hour", "day" or "month" is needed` }).optional(),
      }),
    )
    .optional(),
  prices: z
    .record(z.string(), known({ input: amount, output: amount, cache_read: amount, cache_write: amount }))
    .optional(),
  quotas: known({
    connections: count,
    inferences: count,
    calls: count,
    events: count,
    buffered: count,
    conversations: count,
  }).optional(),
});

/** Throws UsageError where it is no JSON, BytebotError `invalid_params` naming the field. */
export function hubOptions(text: string): Omit<ByteBotOptions, "log" | "blobs" | "tokens"> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError("hub", `--options takes JSON, as in '{"recovery":"end"}'`);
  }
  // As JSON has it: what was left out is not there.
  return JSON.parse(JSON.stringify(parseAs(HubOptions, value, "--options"))) as ByteBotOptions;
}
