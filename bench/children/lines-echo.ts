/** Floor of the tool round trip: answers each line with its own text. */
import { readLines, writeLines } from "../lines.ts";

const send = writeLines(process.stdout);
readLines<{ id: number; input: { text: string } }>(process.stdin, ({ id, input }) => {
  send({ in_reply_to: id, success: true, content: [{ type: "text", text: input.text }] });
});
