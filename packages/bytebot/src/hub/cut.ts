import type { Block } from "../wire/index.ts";
import { textBlock } from "./history.ts";

/** Text beyond the limit is cut at a code point and says so; other content beyond it becomes a note. Sizes in bytes. */
export function cut(content: Block[], limit: number): Block[] {
  let left = limit;
  return content.map((block) => {
    const size = Buffer.byteLength(JSON.stringify(block));
    if (size <= left) {
      left -= size;
      return block;
    }
    const room = Math.max(0, left);
    left = 0;
    if (block.type !== "text")
      return textBlock(`[${block.type} of ${size} bytes left out: over the limit of ${limit}]`);
    const text = String(block["text"]);
    const kept = Buffer.from(text)
      .subarray(0, room)
      .toString("utf8")
      .replace(/\uFFFD+$/u, "");
    return { ...block, type: "text", text: `${kept}\n[cut: ${Buffer.byteLength(text)} bytes in all, limit ${limit}]` };
  });
}
