import type { ByReference } from "../app/component.ts";

/** What chat and demo have in common on the command line. */
export interface Said {
  once?: string | undefined;
  json: boolean;
  scope?: string | undefined;
  /** Without a terminal: approves what the policy asks about. */
  yes?: boolean | undefined;
}

/** bb-chat, as the ui of an app. */
export function chatUi(said: Said, banner?: string): ByReference {
  return { ref: CHAT, name: "chat", opts: chatOpts({ ...said, banner }) };
}

export const CHAT = "bb-chat";

/** Its options, without those that were not given. */
export function chatOpts(opts: Said & { banner?: string | undefined; guest?: boolean }): Record<string, unknown> {
  return Object.fromEntries(Object.entries(opts).filter(([, value]) => value !== undefined));
}
