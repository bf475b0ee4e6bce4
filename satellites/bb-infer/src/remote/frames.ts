/** Bytes that are read in one turn of the event loop, or a little more. */
export const PIECE = 8 * 1024;
/** AWS allows less; nothing that a model says is longer. */
const LONGEST = 16 * 1024 * 1024;
/** Two lengths, their checksum and that of the frame. */
const SHORTEST = 16;

/**
 * A stream of `application/vnd.amazon.eventstream`, passed on in whole frames: the package copies what it holds for each
 * chunk that comes, which for a long frame in small chunks is quadratic, and waits for as much as a frame claims to hold.
 */
export class Frames {
  private held: Uint8Array[] = [];
  private size = 0;
  private needed = 4;

  /** The whole frames that end with this chunk, some at a time; none: nothing. Undefined: this is no such stream. */
  take(chunk: Uint8Array): Uint8Array[] | undefined {
    this.held.push(chunk);
    this.size += chunk.length;
    if (this.size < this.needed) return [];
    const bytes = this.rest();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const some: Uint8Array[] = [];
    let from = 0;
    let at = 0;
    this.needed = 4;
    while (bytes.length - at >= 4) {
      const length = view.getUint32(at);
      if (length < SHORTEST || length > LONGEST) return undefined;
      if (bytes.length - at < length) {
        this.needed = length;
        break;
      }
      at += length;
      if (at - from < PIECE) continue;
      some.push(bytes.subarray(from, at));
      from = at;
    }
    if (at > from) some.push(bytes.subarray(from, at));
    if (at < bytes.length) this.held.push(bytes.subarray(at));
    this.size = bytes.length - at;
    return some;
  }

  /** What is left of a stream that has ended. */
  rest(): Uint8Array {
    const bytes = this.held.length === 1 ? this.held[0]! : Buffer.concat(this.held);
    this.held = [];
    this.size = 0;
    return bytes;
  }
}
