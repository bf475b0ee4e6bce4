import type { Event } from "../wire/index.ts";
import { Unmet, type Check } from "./check.ts";
import type { Peer } from "./peer.ts";
import type { Stage } from "./stage.ts";
import { shown } from "./trace.ts";
import type { Work } from "./work.ts";

/** What holds of every request and its answer, whatever the kind. */
type Shared = Pick<Check, "rule" | "title" | "fix" | "run">;

const RESULTS = new Set(["bb_context_render_result", "bb_infer_result", "bb_tool_call_result"]);

export const answersOnce: Shared = {
  rule: "ENV-4",
  title: "Each request gets one answer, under its own id, however many are open at once",
  fix: "copy the request's id (a call's call_id) into its answer, and answer once, on failure too",
  run: async (stage) => {
    const peer = await stage.attach();
    const works: Work[] = [];
    const count = stage.kind === "infer" ? 2 : 8;
    for (let n = 0; n < count; n++) works.push(await stage.work(peer, { scope: stage.scope(peer, `c_${n}`) }));
    await allAnswered(stage, peer, works);
  },
};

export const apart: Shared = {
  rule: "SCP-9",
  title: "What was said in one scope is in no answer to another",
  fix: "keep what belongs to a conversation under its scope, and nothing of it in a global",
  run: async (stage) => {
    const peer = await stage.attach();
    const canaries = ["kanarie-7f3a9c", "papegaai-b81d04"];
    const works: Work[] = [];
    for (const [n, canary] of canaries.entries()) {
      works.push(await stage.work(peer, { scope: stage.scope(peer, `t_${n}`), text: `Repeat this word: ${canary}` }));
    }
    await allAnswered(stage, peer, works);
    // Once more, one after the other: what was kept from before shows now.
    const again = await stage.work(peer, { scope: stage.scope(peer, "t_2"), text: "Answer with one word: ready." });
    await allAnswered(stage, peer, [again]);
    for (const [n, { key }] of [...works, again].entries()) {
      const mine = peer.events().filter((event) => event["in_reply_to"] === key);
      // Pieces of a word are put together again.
      const said = mine
        .map(({ delta, ...rest }) => (typeof delta === "string" ? delta : ` ${JSON.stringify(rest)} `))
        .join("");
      const other = canaries.find((canary, of) => of !== n && said.includes(canary));
      if (other)
        throw new Unmet(`an answer in its own scope`, `${other}, which was said in another scope`, linesOf(mine));
    }
  },
};

export const cancelled: Shared = {
  rule: "INT-3",
  title: "After bb_cancel it answers still, once: cancelled, or with what is done",
  fix: 'on bb_cancel stop that work and send its result with "success":false and "error":{"code":"cancelled",…}',
  run: async (stage) => {
    const peer = await stage.attach();
    const work = await stage.work(peer, {
      text: "Tell a very long story of a hundred sentences.",
      extra: { params: { max_tokens: 2048 } },
    });
    peer.send(work.event, {
      event_type: "bb_cancel",
      target: work.key,
      scope: work.event["scope"],
      reason: "enough",
      ts: Date.now(),
    });
    await allAnswered(stage, peer, [work]);
    const result = peer.events().find(work.answers)!;
    const code = (result["error"] as { code?: unknown } | undefined)?.code;
    // A failure of its own may have come first; it is none for being told to stop.
    if (result["success"] !== true && code === undefined) {
      throw new Unmet('"error" with the code cancelled', JSON.stringify(result["error"]), linesOf([result]));
    }
  },
};

/** Sends them at once; each has its answer, and no other answer came, also not a while later. */
export async function allAnswered(stage: Stage, peer: Peer, works: readonly Work[]): Promise<void> {
  const first = peer.events().filter((event) => RESULTS.has(event.event_type)).length;
  peer.send(...works.filter(({ key }) => !peer.asked.has(key)).map(({ event }) => event));
  await Promise.all(works.map((work) => stage.answer(peer, work)));
  // What it sends after its answers shows by the time it has read one more question.
  await stage.alive(peer);
  const results = peer
    .events()
    .filter((event) => RESULTS.has(event.event_type))
    .slice(first);
  for (const work of works) {
    const mine = results.filter(work.answers);
    if (mine.length > 1) throw new Unmet("one answer to each request", `${mine.length} to ${work.key}`, linesOf(mine));
  }
  const stray = results.find((event) => !peer.asked.has(String(event["in_reply_to"] ?? event["call_id"])));
  if (stray) throw new Unmet("answers to what was asked alone", "one to what never was", linesOf([stray]));
}

export function linesOf(events: readonly Event[]): { from: "satellite"; line: string }[] {
  return events.slice(-6).map((event) => ({ from: "satellite", line: shown(JSON.stringify(event)) }));
}
