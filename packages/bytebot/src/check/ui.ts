import type { Event } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import { goesOn } from "./connection.ts";
import { linesOf } from "./requests.ts";
import type { Stage } from "./stage.ts";
import { tourOf } from "./tour.ts";
import { question, turnAsSeen } from "./turn.ts";

const FLOOD = 20_000;
const common = { kinds: ["ui"] as const, needs: "handshake" as const };

export const uiChecks: Check[] = [
  {
    ...common,
    rule: "TRN-6",
    title: "It shows a whole turn, and another one in another scope, and goes on",
    run: (stage) =>
      goesOn(stage, (peer) => peer.send(...turnAsSeen(stage.scope(peer)), ...turnAsSeen(stage.scope(peer, "c_2")))),
  },
  {
    ...common,
    rule: "ENV-9",
    title: "Kinds, types and states that it does not know do not end it",
    fix: "for a value you do not know do nothing: a later Hub may say more",
    run: (stage) => goesOn(stage, (peer) => peer.send(...unknownValues(stage.scope(peer)))),
  },
  {
    ...common,
    rule: "CHK-5",
    title: "It may join in the middle of a block",
    run: (stage) => goesOn(stage, (peer) => peer.send(...turnAsSeen(stage.scope(peer)).slice(8))),
  },
  {
    ...common,
    rule: "CHK-3",
    title: `It lives through ${FLOOD.toLocaleString("en")} deltas in a row`,
    run: async (stage) => {
      await goesOn(stage, (peer) => {
        const delta = turnAsSeen(stage.scope(peer)).find(
          ({ kind, block_type }) => kind === "block_delta" && block_type === "text",
        )!;
        for (let n = 0; n < FLOOD; n++) peer.send({ ...delta, n });
      });
    },
  },
  {
    ...common,
    rule: "QUE-3",
    title: "Where it answers a question, it answers once, with accepted or declined",
    run: async (stage) => {
      const [first, ...more] = await replies(stage);
      if (first === undefined) return;
      const outcome = first["outcome"];
      if (outcome !== "accepted" && outcome !== "declined")
        throw new Unmet('"outcome" accepted or declined', JSON.stringify(outcome), linesOf([first]));
      if (more.length > 0)
        throw new Unmet("one reply to one question", `${more.length + 1}`, linesOf([first, ...more]));
    },
  },
  {
    ...common,
    rule: "QUE-4",
    title: "The value it accepts with is one of the options",
    run: async (stage) => {
      const accepted = (await replies(stage)).find(({ outcome }) => outcome === "accepted");
      if (!accepted) throw new Inapplicable("it accepts nothing by itself");
      if (accepted["value"] !== "yes" && accepted["value"] !== "no")
        throw new Unmet('"value" yes or no', JSON.stringify(accepted["value"]) ?? "none", linesOf([accepted]));
    },
  },
  {
    ...common,
    rule: "INP-1",
    title: "What the person says has a text or a content",
    run: async (stage) => {
      const said = (await tourOf(stage)).events("user_event");
      if (said.length === 0) throw new Inapplicable("nobody said anything here");
      const empty = said.find(({ text, content }) => text === undefined && content === undefined);
      if (empty) throw new Unmet("a text or a content", "neither", linesOf([empty]));
    },
  },
];

async function replies(stage: Stage): Promise<Event[]> {
  const peer = await tourOf(stage);
  const asked = [...peer.asked.values()].find(({ event_type }) => event_type === "input_strict");
  return peer.events("input_reply").filter(({ in_reply_to }) => in_reply_to === asked?.["id"]);
}

function unknownValues(scope: string): Event[] {
  const place = { scope, loop_id: "l_later", round: 0, attempt: 0, n: 0, ts: Date.now() };
  return [
    { event_type: "scope_state", state: "resting", ...place },
    { event_type: "infer_chunk", kind: "block_note", index: 0, note: "something new", ...place },
    { event_type: "infer_chunk", kind: "block_start", index: 0, block_type: "hologram", ...place },
    { event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "hologram", delta: "x", ...place },
    { event_type: "infer_chunk", kind: "block_stop", index: 0, block: { type: "hologram", depth: 3 }, ...place },
    { event_type: "tool_result", call_id: "c_later", name: "x", success: false, status: "paused", ...place },
    { event_type: "infer_chunk", kind: "loop_done", stop_reason: "tired", ...place },
    { event_type: "input_state", id: "m_later", fate: "postponed", ...place },
    { event_type: "bb_ack", in_reply_to: "m_later", fate: "postponed" },
    { ...question(scope), options: ["yes"], approval: { name: "x", input: {}, tool_hash: "0", later: true } },
  ];
}
