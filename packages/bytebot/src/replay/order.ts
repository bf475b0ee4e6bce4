import type { Event } from "../wire/index.ts";
import { isShown } from "./logged.ts";
import type { Recorded } from "./recording.ts";

/** By `seq`, each once: of a logged event and what UIs were shown of it the logged one. */
export function inOrder(events: readonly Recorded[], results: readonly Recorded[]): Recorded[] {
  const bySeq = new Map<number, Recorded>();
  const unplaced: Recorded[] = [];
  for (const each of events) {
    const { seq } = each.event as { seq?: number };
    if (seq === undefined) unplaced.push(each);
    else if (!bySeq.has(seq) || isShown(bySeq.get(seq)!.event)) bySeq.set(seq, each);
  }
  if (bySeq.size === 0) return unplaced;
  const ordered = [...bySeq].sort(([a], [b]) => a - b);
  const answered = new Set(ordered.map(([, { event }]) => (event["in_reply_to"] as string | undefined) ?? ""));
  const requests = new Map(
    ordered.flatMap(([seq, { event }]) =>
      event.event_type === "bb_infer_request" && !answered.has(String(event["id"]))
        ? [[String(event["id"]), { seq, event }] as const]
        : [],
    ),
  );
  return withResults(ordered, requests, results);
}

/**
 * Transcripts have what satellites sent, not what of it was logged: an infer's result then stands at the place that the
 * order of the log has free for it.
 */
function withResults(
  ordered: readonly (readonly [number, Recorded])[],
  requests: Map<string, { seq: number; event: Event }>,
  results: readonly Recorded[],
): Recorded[] {
  const loose = results.filter(({ event }) => requests.has(String(event["in_reply_to"])));
  const all: Recorded[] = [];
  let next = 0;
  for (const [index, [seq, recorded]] of ordered.entries()) {
    all.push(recorded);
    const free = (ordered[index + 1]?.[0] ?? Infinity) - seq - 1;
    for (let filled = 0; filled < free && next < loose.length; filled++) {
      const { line, event } = loose[next]!;
      const request = requests.get(String(event["in_reply_to"]))!;
      if (request.seq > seq) break;
      next++;
      const { content: _, ...said } = event;
      const { loop_id, scope, round, attempt } = request.event;
      all.push({ line, event: { ...said, loop_id, scope, round, attempt } });
    }
  }
  return all;
}
