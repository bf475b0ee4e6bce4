import { kinds } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import type { Peer } from "./peer.ts";
import type { Stage } from "./stage.ts";
import { EXIT_MS, strange } from "./tour.ts";
import { newId } from "./work.ts";

const END = "when stdin ends, stop all work and exit: no thread, timer or child may keep the process";

export const connectionChecks: Check[] = [
  {
    rule: "CON-2",
    title: "Its first event is bb_sync, valid, within 10 s of its start",
    kinds,
    gate: "handshake",
    fix: 'write {"event_type":"bb_sync","kind":…} as the first line, and flush stdout',
    run: async (stage) => {
      const peer = await stage.open();
      const first = await peer.wait("bb_sync as its first event", () => true, stage.within("sync"));
      if (first.event_type !== "bb_sync")
        throw new Unmet("bb_sync as its first event", first.event_type, peer.trace.last());
      await stage.synced(peer);
    },
  },
  {
    rule: "CON-3",
    title: "bb_sync names the kind that its manifest does",
    kinds,
    needs: "handshake",
    run: async (stage) => {
      const peer = await stage.open();
      const { kind } = await stage.synced(peer);
      if (kind !== stage.kind) throw new Unmet(`"kind":"${stage.kind}"`, `"kind":"${kind}"`, peer.trace.last());
    },
  },
  {
    rule: "CON-6",
    title: "bb_ping is answered with bb_pong that names it",
    kinds,
    gate: "pong",
    fix: 'on bb_ping send {"event_type":"bb_pong","in_reply_to": its id}; without an id, no in_reply_to',
    run: async (stage) => {
      const peer = await stage.attach();
      const question = await stage.question(peer);
      peer.send(question.event);
      await stage.answer(peer, question, stage.within("pong"));
    },
  },
  {
    rule: "CON-6",
    title: "A bb_ping without an id is answered too",
    kinds,
    needs: "pong",
    run: async (stage) => {
      const peer = await stage.attach();
      peer.send({ event_type: "bb_ping" });
      await peer.wait("bb_pong", ({ event_type }) => event_type === "bb_pong", stage.within("pong"));
    },
  },
  {
    rule: "ENV-8",
    title: "Types it does not know are ignored, a vendor's as well as a later version's",
    kinds,
    needs: "handshake",
    fix: "do nothing for an event_type that you do not handle",
    run: async (stage) => goesOn(stage, (peer) => peer.send(...strange(stage.scope(peer)).slice(0, 2))),
  },
  {
    rule: "ERR-2",
    title: "A bb_error, also of a code it does not know, does not end it",
    kinds,
    needs: "handshake",
    run: async (stage) => goesOn(stage, (peer) => peer.send(...strange(stage.scope(peer)).slice(2, 4))),
  },
  {
    rule: "CON-8",
    title: "It exits within 1 s when stdin ends",
    over: "stdio",
    kinds,
    needs: "handshake",
    fix: END,
    run: async (stage) => {
      const peer = await stage.attach();
      await stage.alive(peer).catch(only(Inapplicable));
      await exits(peer);
    },
  },
  {
    rule: "CON-8",
    title: "It exits within 1 s when stdin ends in the middle of its work",
    over: "stdio",
    kinds: ["context", "infer", "toolsource"],
    needs: "handshake",
    fix: END,
    run: async (stage) => {
      const peer = await stage.attach();
      const { event } = await stage.work(peer, { text: "Tell a long story." });
      peer.send(event);
      await exits(peer);
    },
  },
  {
    rule: "CON-5",
    title: "It ends when its bb_sync is refused and the stream ends",
    over: "stdio",
    kinds,
    needs: "handshake",
    fix: "do not wait for bb_sync_ack after bb_error, bb_bye or the end of stdin",
    run: async (stage) => {
      const peer = await stage.open();
      await stage.synced(peer);
      const message = "this connection may not";
      peer.send(
        { event_type: "bb_error", code: "forbidden", message, retryable: false },
        { event_type: "bb_bye", reason: message },
      );
      await exits(peer);
    },
  },
  {
    rule: "INT-3",
    title: "A bb_cancel of what it does not work on is passed over",
    kinds: ["context", "infer", "toolsource"],
    needs: "handshake",
    run: async (stage) => {
      const target = newId("c");
      const peer = await goesOn(stage, (open) =>
        open.send({ event_type: "bb_cancel", target, scope: stage.scope(open), reason: "over" }),
      );
      const answer = peer.events().find((event) => event["in_reply_to"] === target || event["call_id"] === target);
      if (answer && answer.event_type !== "bb_error")
        throw new Unmet("no answer to what was never asked", answer.event_type, peer.trace.last());
    },
  },
];

/** Sends something, and sees that it lives. */
export async function goesOn(stage: Stage, send: (peer: Peer) => void): Promise<Peer> {
  const peer = await stage.attach();
  send(peer);
  await stage.alive(peer);
  return peer;
}

/** Ends its input, and sees that the process ends by itself. */
export async function exits(peer: Peer): Promise<void> {
  const { process } = peer;
  process.endInput();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), EXIT_MS)));
  const end = await Promise.race([process.exited, late]);
  clearTimeout(timer);
  if (end === "late")
    throw new Unmet(
      "the end of its process within 1 s of the end of stdin",
      `a process that still runs after ${EXIT_MS / 1000} s`,
      peer.trace.last(),
    );
}

function only(known: new () => Error): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof known)) throw error;
  };
}
