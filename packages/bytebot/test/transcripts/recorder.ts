import { join } from "node:path";
import { ambient, type Main, type Running } from "../../src/sdk/ambient.ts";
import type { Link, Receiver } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";

/** A line of one connection, as the satellite sent it or got it. */
export interface Line {
  role: string;
  way: "sent" | "got";
  event: Event;
}

/** Where a satellite in a process of its own writes them, one a line. */
export function recordOf(folder: string, script: string, role: string): string {
  return join(folder, `${script}.${role}.jsonl`);
}

/** This `main`, with what crosses its connection written down, up to the `bb_bye` of either side. */
export function recorded(role: string, main: Main, write: (line: Line) => void): Main {
  let over = false;
  const line = (way: Line["way"], event: Event): void => {
    if (over) return;
    over = event.event_type === "bb_bye";
    // A copy, as it is at this moment.
    write({ role, way, event: JSON.parse(JSON.stringify(event)) as Event });
  };
  return async (start) => {
    const running = ambient() as Running;
    const outer = running.ambient;
    running.ambient = { ...outer, connect: (receiver) => tapped((tap) => outer.connect(tap), receiver, line) };
    await main(start);
  };
}

function tapped(
  connect: (receiver: Receiver) => Link,
  receiver: Receiver,
  line: (way: Line["way"], event: Event) => void,
): Link {
  const link = connect({
    event: (event) => {
      line("got", event);
      receiver.event(event);
    },
    fault: (error) => receiver.fault(error),
    closed: (reason) => receiver.closed(reason),
  });
  return {
    name: link.name,
    get buffered() {
      return link.buffered;
    },
    send: (event) => {
      line("sent", event);
      link.send(event);
    },
    drained: () => link.drained(),
    limit: (limits) => link.limit(limits),
    close: (reason) => link.close(reason),
  };
}
