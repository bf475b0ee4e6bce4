import { beforeSync, BytebotError, kinds, limitsFor, maySend, validate, type Event, type Kind } from "../wire/index.ts";
import { Unmet, type Check } from "./check.ts";
import { mayControl } from "./manners.ts";
import type { Peer } from "./peer.ts";
import { shown, type Received } from "./trace.ts";
import type { Stage } from "./stage.ts";
import { tourOf } from "./tour.ts";

const ANSWERS = new Set([
  "bb_context_render_result",
  "infer_chunk",
  "bb_infer_result",
  "bb_tool_call_result",
  "bb_tool_progress",
]);

/** What it may not be, seen in the lines it sends through a whole connection: undefined where the line is well. */
type Finding = (received: Received, peer: Peer, kind: Kind) => string | undefined;

function sent(check: Omit<Check, "kinds" | "run" | "needs"> & Partial<Check>, find: Finding): Check {
  return {
    kinds,
    needs: "handshake",
    ...check,
    run: async (stage) => look(await tourOf(stage), stage.kind, check.title, find),
  };
}

function look(peer: Peer, kind: Kind, expected: string, find: Finding): void {
  for (const received of peer.received) {
    const got = find(received, peer, kind);
    if (got !== undefined)
      throw new Unmet(expected, got, [{ from: "satellite", line: shown(received.text, received.bytes) }]);
  }
}

function broken(rule: string, title: string, fix: string): Check {
  return sent({ rule, title, fix }, ({ fault, breaks }) => (breaks === rule ? fault!.message : undefined));
}

function ofEvent(find: (event: Event, peer: Peer, kind: Kind) => string | undefined): Finding {
  return ({ event }, peer, kind) => event && find(event, peer, kind);
}

const ID = /^[\x21-\x7e]{1,128}$/;
const isId = (value: unknown): boolean => typeof value === "string" && ID.test(value);
const IDS = ["id", "in_reply_to", "call_id", "loop_id"];

export const sentChecks: Check[] = [
  sent(
    {
      rule: "FRM-1",
      title: "Each event it sends is one JSON object in UTF-8 on one line that ends with 0x0A",
      bytes: true,
      fix: 'write json + "\\n" as UTF-8 in one call, flush, and never pretty-print',
    },
    ({ breaks, fault, unended }) =>
      breaks === "FRM-1" ? fault!.message : unended ? "a last line without its 0x0A" : undefined,
  ),
  sent(
    {
      rule: "FRM-3",
      title: "It writes U+2028 and U+2029 as the escapes \\u2028 and \\u2029",
      bytes: true,
      fix: "Python's json.dumps does it by default (ensure_ascii); JSON.stringify does not: replace both characters",
    },
    ({ separator }) => (separator ? "one of them, raw" : undefined),
  ),
  {
    ...sent(
      { rule: "FRM-5", title: "No line it sends is longer than the limit in force" },
      ({ bytes, breaks, fault, event }, _peer, kind) => {
        if (breaks === "FRM-5") return fault!.message;
        const most = event?.event_type === "bb_sync" ? beforeSync.line_bytes : limitsFor(kind).line_bytes;
        return bytes > most ? `a line of ${bytes} bytes; the limit is ${most}` : undefined;
      },
    ),
    fix: "cut what a tool says, and say that it is cut; before bb_sync_ack a line has at most 16 KiB",
  },
  broken("FRM-6", "No event it sends holds more than 10,000 values or nests deeper than 64", "flatten it"),
  broken(
    "FRM-7",
    "Its numbers are finite and within ±(2^53−1), and no key is __proto__, constructor, prototype or holds a backslash",
    "NaN and Infinity are no JSON (allow_nan=False in Python); send a large integer as text",
  ),
  broken("FRM-8", "Its names hold no NUL and no half character", "make ids of visible ASCII"),
  sent(
    {
      rule: "FRM-8",
      title: "No text it sends holds half a character: a surrogate pair is not cut in two",
      bytes: true,
      fix: "cut text between characters, not between UTF-16 units or bytes",
    },
    ({ half }) => (half ? "half a surrogate pair, which arrives as U+FFFD" : undefined),
  ),
  {
    ...broken("FRM-11", "Its stdout carries events only", "print to stderr: in Python print(…, file=sys.stderr)"),
    over: "stdio",
  },
  broken("ENV-1", "Each event has an event_type", 'every object needs a text "event_type"'),
  sent(
    { rule: "ENV-2", title: "Its ids are 1 to 128 visible ASCII characters" },
    ofEvent((event) => {
      const wrong = IDS.find((field) => event[field] !== undefined && !isId(event[field]));
      return wrong && `"${wrong}": ${JSON.stringify(event[wrong])?.slice(0, 200)}`;
    }),
  ),
  {
    rule: "ENV-2",
    title: "Its ids do not begin again with the next run",
    kinds,
    needs: "handshake",
    fix: "uuid4, or 128 random bits",
    run: uniqueIds,
  },
  sent(
    { rule: "ENV-5", title: "An answer names no other scope than its request" },
    ofEvent((event, peer) => {
      const asked = peer.asked.get(String(event["call_id"] ?? event["in_reply_to"]));
      if (!ANSWERS.has(event.event_type) || event["scope"] === undefined || !asked) return undefined;
      return event["scope"] === asked["scope"]
        ? undefined
        : `"scope":${JSON.stringify(event["scope"])}, asked in ${JSON.stringify(asked["scope"])}`;
    }),
  ),
  sent(
    {
      rule: "ENV-7",
      title: "Each event it sends has the fields of its type, each of the right type",
      fix: "compare it with spec/wire.schema.json",
    },
    ofEvent(invalid),
  ),
  sent(
    {
      rule: "ENV-8",
      title: "A bb_ type it sends is one of the wire's; a vendor's type has a dot, a slash and a scope",
    },
    ofEvent((event) => {
      try {
        validate(event);
      } catch (error) {
        if (BytebotError.from(error).code === "unknown_type") return BytebotError.from(error).message;
      }
      return isVendor(event) && event["scope"] === undefined
        ? `a vendor's event ${event.event_type} without a scope`
        : undefined;
    }),
  ),
  sent(
    { rule: "ENV-10", title: 'Its "success": false says why: error{code,message,retryable}', level: "SHOULD" },
    ofEvent((event) =>
      event["success"] === false && event["error"] === undefined ? `${event.event_type} without an error` : undefined,
    ),
  ),
  sent(
    { rule: "KND-1", title: "It sends only what its kind may send" },
    ofEvent((event, peer, kind) =>
      permission(event, peer, kind) === "forbidden" && !isUnknown(event)
        ? `${event.event_type} from a ${kind}`
        : undefined,
    ),
  ),
  sent(
    { rule: "KND-2", title: "It sends nothing that is the Hub's own to send" },
    ofEvent((event, peer, kind) => (permission(event, peer, kind) === "not_authority" ? event.event_type : undefined)),
  ),
  sent(
    { rule: "CON-5", title: "It sends bb_sync once" },
    ofEvent((event, peer) => (event.event_type === "bb_sync" && peer.sync !== event ? "a second bb_sync" : undefined)),
  ),
];

async function uniqueIds(stage: Stage): Promise<void> {
  // One after the other: what is reached over HTTP serves one Hub at a time.
  const first = await tourOf(stage, 0);
  const second = await tourOf(stage, 1);
  const ids = new Set(first.events().map(({ id }) => id));
  const again = second.events().find(({ id }) => id !== undefined && ids.has(id));
  if (again)
    throw new Unmet("other ids in another run", `"id":${JSON.stringify(again["id"])} in both`, [
      { from: "satellite", line: shown(JSON.stringify(again)) },
    ]);
}

/** Ids have a check of their own, and so has what is unknown. */
function invalid(event: Event): string | undefined {
  const rest = Object.entries(event).map(([key, value]) => [
    key,
    IDS.includes(key) && value !== undefined ? "x" : value,
  ]);
  try {
    validate(Object.fromEntries(rest) as Event);
    return undefined;
  } catch (error) {
    const { code, message } = BytebotError.from(error);
    return code === "unknown_type" ? undefined : message;
  }
}

function permission(event: Event, peer: Peer, kind: Kind): string {
  if (event.event_type === "bb_sync") return "allowed";
  const controller = mayControl(kind) && peer.sync?.["controller"] === true;
  return maySend(kind, controller, event.event_type);
}

function isUnknown(event: Event): boolean {
  try {
    validate(event);
    return false;
  } catch (error) {
    return BytebotError.from(error).code === "unknown_type";
  }
}

/** Of the wire is what has no slash: `user_event`. */
function isVendor({ event_type }: Event): boolean {
  return event_type.includes("/");
}
