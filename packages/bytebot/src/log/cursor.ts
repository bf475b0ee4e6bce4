/** An event's place in the order of a whole log: the number of its entry, and its index in it. */
export interface Mark {
  /** Which log; a number means nothing in another one. */
  log: string;
  order: number;
  /** Infinity: the whole entry. */
  index: number;
}

const CURSOR = /^(.+):(\d{1,15})(?:\.(\d{1,3}))?$/s;

/** What a cursor says, `<log>:<order>` of an entry or `<log>:<order>.<index>` of an event; undefined where it is none. */
export function toMark(cursor: string): Mark | undefined {
  const [, log, order, index] = CURSOR.exec(cursor) ?? [];
  if (log === undefined) return undefined;
  return { log, order: Number(order), index: index === undefined ? Infinity : Number(index) };
}

/** The number of the entry in a cursor of an engine's own. */
export function orderOf(cursor: string): number {
  return Number.parseInt(cursor.slice(cursor.lastIndexOf(":") + 1), 10);
}
