import type { Event } from "../wire/index.ts";
import { Inapplicable, Unmet } from "./check.ts";
import type { Peer } from "./peer.ts";
import { Stage, type Subject } from "./stage.ts";
import { copies, question, turnAsSeen } from "./turn.ts";
import { newId, NO_SUCH_TOOL, offered, type Work } from "./work.ts";

/** A second for a busy machine beside that of the rule. */
export const EXIT_MS = 2000;

/** Text that shows whether it writes U+2028 as it must, and where it cuts. */
const SEPARATED = `first\u2028second ${"\u{1F600}".repeat(9)}`;

/** The nth connection with an exchange of every kind, made when it is first asked for. */
export function tourOf({ subject, signal }: Stage, n = 0): Promise<Peer> {
  return (subject.tours[n] ??= tour(subject, signal));
}

/**
 * One connection with an exchange of every kind, to its end: a request and a cancelled one, what is unknown, an error,
 * goodbye. Rejects only where there is no handshake; what else goes wrong is found by the check of that.
 */
async function tour(subject: Subject, signal: AbortSignal): Promise<Peer> {
  const stage = new Stage(subject, signal);
  try {
    const peer = await stage.attach();
    for (const step of steps) {
      if (peer.ended === undefined) await tolerant(() => step(stage, peer));
    }
    return peer;
  } finally {
    await stage.close();
  }
}

const steps: ((stage: Stage, peer: Peer) => Promise<void>)[] = [
  (stage, peer) => stage.alive(peer),
  exchange,
  async (stage, peer) => {
    peer.send(...strange(stage.scope(peer)));
    await stage.alive(peer);
  },
  async (_stage, peer) => {
    peer.send({ event_type: "bb_bye", reason: "the app ends" });
    peer.process.endInput();
    await peer.endsWithin(EXIT_MS);
  },
];

/** What its kind is there for. */
async function exchange(stage: Stage, peer: Peer): Promise<void> {
  const scope = stage.scope(peer);
  switch (stage.kind) {
    case "context":
    case "infer":
      await asked(stage, peer, await stage.work(peer, { text: `Repeat this: ${SEPARATED}` }));
      await asked(stage, peer, await stage.work(peer, { text: "Note down: milk. Call check_note.", tools: offered }));
      break;
    case "toolsource":
      await asked(stage, peer, await stage.work(peer));
      await asked(stage, peer, await stage.work(peer, { call: { name: `${NO_SUCH_TOOL} ${SEPARATED}`, input: {} } }));
      break;
    case "ui":
      peer.send(...turnAsSeen(scope, SEPARATED), question(scope));
      return stage.alive(peer);
    case "telemetry":
      peer.send(...copies(scope));
      return stage.alive(peer);
  }
  const stopped = await stage.work(peer, { text: "Tell a story." });
  peer.send(stopped.event, { event_type: "bb_cancel", target: stopped.key, scope, reason: "enough", ts: Date.now() });
  await stage.answer(peer, stopped);
}

async function asked(stage: Stage, peer: Peer, work: Work): Promise<void> {
  peer.send(work.event);
  await stage.answer(peer, work);
}

/** What a component may meet and has to pass over. */
export function strange(scope: string): Event[] {
  return [
    { event_type: "com.example/typing", scope, who: "kim", from: "web", ts: Date.now() },
    { event_type: "bb_from_a_later_version", id: newId("x"), scope, data: { list: [1, null, true] } },
    { event_type: "bb_error", in_reply_to: newId("m"), code: "not_found", message: "no such thing", retryable: false },
    { event_type: "bb_error", code: "a_later_code", message: "something new", retryable: true, retry_after_ms: 10 },
    { event_type: "bb_cancel", target: newId("c"), scope, reason: "it is over already" },
    { event_type: "bb_ack", in_reply_to: newId("m") },
  ];
}

async function tolerant(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof Unmet || error instanceof Inapplicable)) throw error;
  }
}
