/** A call of a tool, as the person sees it. */
export interface Call {
  id: string;
  name: string;
  /** In short, and printable; the whole is in the log. */
  args: string;
  progress: string;
}

/** What is printed once and then scrolls away. */
export type Item =
  | { type: "note" | "error" | "text" | "thinking"; text: string }
  | { type: "user"; text: string; mine: boolean }
  | { type: "call"; call: Call; status: string; result: string }
  | { type: "question"; title: string; text: string };

type Content = readonly { type: string; [field: string]: unknown }[] | undefined;

/** Content blocks as text; what is not text is named in brackets. */
export function textOf(content: Content): string {
  return (content ?? [])
    .map((block) => (typeof block["text"] === "string" ? block["text"] : described(block)))
    .join("\n");
}

function described(block: { type: string; [field: string]: unknown }): string {
  const kind = typeof block["mime_type"] === "string" ? block["mime_type"] : block.type;
  return typeof block["size"] === "number" ? `[${kind}, ${block["size"]} bytes]` : `[${kind}]`;
}
