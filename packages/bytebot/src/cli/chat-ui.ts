import type { ByReference } from "../app/component.ts";

/** What chat and demo have in common on the command line. */
export interface Said {
  once?: string | undefined;
  json: boolean;
  scope?: string | undefined;
}

/** bb-chat, as the ui of an app. */
export function chatUi({ once, json, scope }: Said, banner?: string): ByReference {
  const given = Object.entries({ once, scope, banner }).filter(([, value]) => value !== undefined);
  return { ref: "bb-chat", name: "chat", opts: { json, ...Object.fromEntries(given) } };
}
