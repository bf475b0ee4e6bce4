import type { Link } from "../transport/index.ts";
import type { Event } from "../wire/index.ts";
import type { Offer } from "./grants.ts";
import { Inbox } from "./inbox.ts";
import type { Ended } from "./options.ts";
import type { Outlet } from "./readers/outlet.ts";

/** What the Hub keeps of a connection beside what the core knows of it. */
export interface Open {
  offer: Offer;
  link: Link | undefined;
  outlet: Outlet | undefined;
  /** What came before `connect` had answered with the link. */
  early: Event[];
  inbox: Inbox;
  ready: PromiseWithResolvers<void>;
  closed: PromiseWithResolvers<Ended>;
  expected: boolean;
  /** Why the Hub ended it, where it did: what its link says then is only that it has ended. */
  reason?: string;
  /** Lines so far that were no events. */
  faults: number;
}

export function newOpen(offer: Offer): Open {
  const open: Open = {
    offer,
    link: undefined,
    outlet: undefined,
    early: [],
    inbox: new Inbox(),
    ready: Promise.withResolvers(),
    closed: Promise.withResolvers(),
    expected: false,
    faults: 0,
  };
  // Whoever waits gets the reason; that nobody waits is no fault.
  open.ready.promise.catch(() => undefined);
  return open;
}

/** The Hub ends it, for this reason: the first one counts. */
export function ending(open: Open, reason: string, expected: boolean): void {
  open.expected ||= expected;
  open.reason ??= reason;
}
