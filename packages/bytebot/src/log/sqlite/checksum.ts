import { crc32 } from "node:zlib";

/** All that an entry's row says, beside its number. */
export interface Row {
  pos: number;
  id: string;
  at: number;
  base: number;
  open: number;
  refs: string | null;
  events: string;
}

/** What flipped bytes do not match: the crc32 of `pos at base open refs id` and, at once after it, the events' text. */
export function checksumOf({ pos, id, at, base, open, refs, events }: Row): number {
  return crc32(`${pos} ${at} ${base} ${open} ${refs} ${id}${events}`);
}

export { crc32 };
