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
  /** `from`: the component it came from, where that is known. */
  | { type: "user"; text: string; mine: boolean; from: string | undefined }
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
  const { name, mime_type: kind, size } = block;
  const known = [name, typeof kind === "string" ? kind : block.type].filter((each) => typeof each === "string");
  return `[${[...known, ...(typeof size === "number" ? [sizeInWords(size)] : [])].join(", ")}]`;
}

function sizeInWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [large, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KiB"] : [bytes / 1024 / 1024, "MiB"];
  return `${large.toFixed(1)} ${unit}`;
}
