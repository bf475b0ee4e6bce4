/** A link with lines that wait to leave together. */
export interface Leaving {
  flush(): void;
}

/*
 * When lines leave. In one turn of the event loop, the first of a link leave as soon as all is said that led to them: at
 * the end of the read that they answer, else after the microtasks of whoever sends them. More of them, from other reads
 * of the same turn, leave together at its end.
 */
let reads = 0;
let soon: Leaving[] = [];
/** Those whose first lines of this turn have left, or are in `soon`. */
let left = new Set<Leaving>();
let tick: "none" | "due" = "none";
let turnEnd: "none" | "due" = "none";
const resolved = Promise.resolve();

/** Called with the first line of a link's queue. */
export function leaveSoon(link: Leaving): void {
  if (left.has(link)) return;
  left.add(link);
  soon.push(link);
  if (reads > 0 || tick === "due") return;
  tick = "due";
  void resolved.then(afterMicrotasks);
}

/** Takes in what one read brought; what is sent at once leaves when all of it is taken in. */
export function read(chunk: Uint8Array, reader: { push(chunk: Uint8Array): void }): void {
  reads++;
  try {
    reader.push(chunk);
  } finally {
    if (--reads === 0 && soon.length > 0) leave();
  }
}

/** A tick comes when no microtask is left, however many of them the first led to. */
function afterMicrotasks(): void {
  process.nextTick(ticked);
}

function ticked(): void {
  tick = "none";
  leave();
}

function leave(): void {
  const leaving = soon;
  soon = [];
  for (const link of leaving) link.flush();
  if (turnEnd === "due" || left.size === 0) return;
  turnEnd = "due";
  setImmediate(endTurn);
}

function endTurn(): void {
  turnEnd = "none";
  const links = left;
  left = new Set();
  for (const link of links) link.flush();
}
