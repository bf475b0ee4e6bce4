import { Unmet, type Check } from "./check.ts";
import { goesOn } from "./connection.ts";
import { linesOf } from "./requests.ts";
import { copies } from "./turn.ts";

const ROUNDS = 500;
const common = { kinds: ["telemetry"] as const, needs: "handshake" as const };

export const telemetryChecks: Check[] = [
  {
    ...common,
    rule: "KND-4",
    title: "A copy is not meant for it: it answers none, and does not leave at the copy of a bb_bye",
    fix: 'leave an event with "observed": true to your log, whatever its type',
    run: async (stage) => {
      const peer = await goesOn(stage, (open) => open.send(...copies(stage.scope(open))));
      const observed = new Set(
        [...peer.asked.values()].filter((event) => event["observed"] === true).map(({ id, call_id }) => id ?? call_id),
      );
      const answer = peer.events().find((event) => observed.has(event["in_reply_to"] ?? event["call_id"]));
      if (answer) throw new Unmet("no answer to a copy", answer.event_type, linesOf([answer]));
      if (peer.left) throw new Unmet("that it stays", "its bb_bye", linesOf(peer.events("bb_bye")));
    },
  },
  {
    ...common,
    rule: "CON-9",
    title: "It lives through a flood, and through being told that it lost events",
    run: async (stage) => {
      await goesOn(stage, (peer) => {
        for (let round = 0; round < ROUNDS; round++) peer.send(...copies(stage.scope(peer)));
        const message = "120 events were dropped: this telemetry reads too slowly";
        peer.send({ event_type: "bb_error", code: "overloaded", message, retryable: false, data: { dropped: 120 } });
      });
    },
  },
];
