import { BytebotError } from "bytebot/sdk";

/** What the app passes to this component. */
export interface Options {
  /** The conversation; default "local". */
  scope: string;
  /** The first lines on the screen. */
  banner: string;
  /** Send this one text, print the answer, end. */
  once: string | undefined;
  /** Without a terminal: every event as a JSON line on stdout. */
  json: boolean;
  /** The name before the person's own lines. */
  user: string;
}

/** Checks what the app passed. Throws BytebotError `invalid_params` naming the option that is wrong. */
export function toOptions(opts: Record<string, unknown>): Options {
  const text = (name: string): string | undefined => {
    const value = opts[name];
    if (value === undefined || typeof value === "string") return value;
    throw new BytebotError(
      "invalid_params",
      `bb-chat: the option "${name}" must be text, and is ${JSON.stringify(value)}`,
    );
  };
  const { json = false } = opts;
  if (typeof json !== "boolean") {
    throw new BytebotError(
      "invalid_params",
      `bb-chat: the option "json" must be true or false, and is ${JSON.stringify(json)}`,
    );
  }
  const once = text("once");
  if (once?.trim() === "")
    throw new BytebotError("invalid_params", `bb-chat: the option "once" is empty: pass the text to send`);
  return { scope: text("scope") ?? "local", banner: text("banner") ?? "", once, json, user: text("user") ?? "you" };
}
