import { BytebotError } from "bytebot/sdk";
import type { Mode } from "./state.ts";

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
  /** Without a terminal: approves what the app's policy asks about, instead of declining it. */
  yes: boolean;
  /** Without a terminal: what is asked is for the other screens of the conversation to answer. */
  guest: boolean;
  /** What Enter does while a turn runs; undefined: as the app's rules for the scope say. */
  mode: Mode | undefined;
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
  const flag = (name: string): boolean => {
    const { [name]: value = false } = opts;
    if (typeof value === "boolean") return value;
    throw new BytebotError(
      "invalid_params",
      `bb-chat: the option "${name}" must be true or false, and is ${JSON.stringify(value)}`,
    );
  };
  const mode = text("mode");
  if (!isMode(mode)) {
    throw new BytebotError(
      "invalid_params",
      `bb-chat: the option "mode" must be "queue", "steer" or "replace", and is ${JSON.stringify(mode)}`,
    );
  }
  const once = text("once");
  if (once?.trim() === "")
    throw new BytebotError("invalid_params", `bb-chat: the option "once" is empty: pass the text to send`);
  const [json, yes, guest] = [flag("json"), flag("yes"), flag("guest")];
  const [scope = "local", banner = "", user = "you"] = [text("scope"), text("banner"), text("user")];
  return { scope, banner, once, json, yes, guest, mode, user };
}

function isMode(mode: string | undefined): mode is Mode | undefined {
  return mode === undefined || mode === "queue" || mode === "steer" || mode === "replace";
}
