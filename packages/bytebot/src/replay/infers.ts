import { placeOf } from "./logged.ts";
import type { Recorded } from "./recording.ts";
import { goneOf } from "./said.ts";

/** What infers were called: it shows in how they were lost, and in thinking that they signed. */
export class Infers {
  /** Of what does not say otherwise. */
  private readonly usual: string;
  /** The round of each request: all its attempts are of one infer, where the context named it. */
  private readonly rounds = new Map<unknown, string>();
  /** Those that were lost, by their requests, and by rounds. */
  private readonly lost = new Map<unknown, string>();
  private readonly lostIn = new Map<string | undefined, Set<string>>();

  constructor(events: readonly Recorded[]) {
    let usual: string | undefined;
    for (const { event } of events) {
      const { origin } = (event["block"] ?? {}) as { origin?: unknown };
      if (typeof origin === "string") usual ??= origin.split("/", 1)[0];
      if (event.event_type === "bb_infer_request") this.rounds.set(event["id"], placeOf({ ...event, attempt: 0 }));
      const gone = event.event_type === "bb_infer_result" ? goneOf(event) : undefined;
      if (!gone) continue;
      usual ??= gone.name;
      const request = event["in_reply_to"];
      const round = this.rounds.get(request);
      this.lost.set(request, gone.name);
      this.lostIn.set(round, (this.lostIn.get(round) ?? new Set()).add(gone.name));
    }
    this.usual = usual || "infer";
  }

  /** Who answered this request. */
  of(request: unknown): string {
    const names = this.inRound(request);
    const [first = this.usual] = names.size === 1 ? names : [];
    return this.lost.get(request) ?? first;
  }

  /** Where attempts of a round went to several, the context named none: it was the Hub's to choose. */
  isNamed(request: unknown): boolean {
    return this.inRound(request).size < 2;
  }

  private inRound(request: unknown): ReadonlySet<string> {
    return this.lostIn.get(this.rounds.get(request)) ?? new Set();
  }
}

/** The context's name, and how it was lost, if it was. */
export function contextOf(events: readonly Recorded[]): { name: string; reason: string } {
  const infers = new Set<unknown>();
  for (const { event } of events) {
    const gone = goneOf(event);
    if (event.event_type === "bb_infer_result") infers.add(gone?.name);
    else if (gone && !infers.has(gone.name)) return gone;
  }
  return { name: "context", reason: "lost" };
}
