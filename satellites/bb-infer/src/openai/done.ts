/** Time for a server to end the reply itself, so that its connection can be used again. */
const LINGER_MS = 250;
const DONE = /[\r\n]data: ?\[DONE\]/;
const LONGEST = "\ndata: [DONE]".length;

/** An event stream up to its `data: [DONE]`: what follows is dropped, and a connection left open does not hold it up. */
export function untilDone(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  // The last bytes that came, as a character each: the mark may be cut anywhere.
  let before = "\n";
  let lingering: NodeJS.Timeout | undefined;
  const done = () => clearTimeout(lingering);
  return new TransformStream({
    transform(chunk, controller) {
      if (lingering) return;
      const text = before + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
      const found = DONE.exec(text);
      if (!found) {
        before = text.slice(1 - LONGEST);
        controller.enqueue(chunk);
        return;
      }
      controller.enqueue(chunk.subarray(0, found.index + found[0].length - before.length));
      lingering = setTimeout(() => controller.terminate(), LINGER_MS);
    },
    flush: done,
    cancel: done,
  });
}
