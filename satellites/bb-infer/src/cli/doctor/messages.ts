import type { Block, Message } from "bytebot/sdk";

export function user(...content: (string | Block)[]): Message {
  return { role: "user", content: content.map((part) => (typeof part === "string" ? text(part) : part)) };
}

export function assistant(content: Block[]): Message {
  return { role: "assistant", content };
}

function text(said: string): Block {
  return { type: "text", text: said };
}

/** Words of others on one line of a report, cut. */
export function quoted(said: string, length = 80): string {
  return JSON.stringify(said.length > length ? `${said.slice(0, length - 1)}…` : said);
}

/** What an app writes into its options, as it would write it. */
export function option(name: string, value: unknown): string {
  return `opts.${name}: ${JSON.stringify(value)}`;
}
