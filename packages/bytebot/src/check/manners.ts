import { version } from "../app/version.ts";
import { limitsFor, type Event, type Kind, type Sync } from "../wire/index.ts";

/** As a Hub says it that was not told otherwise (rule BLB-4). */
const BLOB_BYTES = 64 * 1024 * 1024;

/** What a Hub grants a component that it was asked to attach, and nobody else. */
export function acknowledge(sync: Sync): Event {
  const { kind } = sync;
  return {
    event_type: "bb_sync_ack",
    component_id: "checked",
    protocol_version: 1,
    kind,
    scopes: sync.scopes ?? ["*"],
    input_capable: kind === "ui" && sync.input_capable !== false,
    primary: sync.primary !== false,
    controller: mayControl(kind) && sync.controller === true,
    limits: { ...limitsFor(kind), blob_bytes: BLOB_BYTES },
    hub: { name: "bytebot check", version },
    ts: Date.now(),
  };
}

export function mayControl(kind: Kind): boolean {
  return kind === "ui" || kind === "context";
}

/** How a Hub answers what a component sends of itself, so that the component can go on. `n` rises with each event. */
export function answersTo(event: Event, n: number): Event[] {
  const { id } = event;
  const named = typeof id === "string" ? { in_reply_to: id } : undefined;
  const durable = { seq: 256 * n, cursor: `check:${n}.0`, ts: Date.now() };
  switch (event.event_type) {
    case "bb_ping":
      return [{ event_type: "bb_pong", ...named }];
    case "user_event":
      return [
        ...(named ? [{ event_type: "bb_ack", ...named, fate: "started", seq: durable.seq, ts: durable.ts }] : []),
        { ...event, from: "checked", ...durable },
      ];
    case "interrupt":
    case "input_reply":
      return named ? [{ event_type: "bb_ack", ...named }] : [];
    case "bb_history_request":
      return [
        { event_type: "bb_history_result", ...named, scope: event["scope"], success: true, events: [], more: false },
      ];
    case "bb_tool_register":
      return [{ event_type: "bb_tool_register_result", ...named, success: true, tools: registered(event["tools"]) }];
    case "bb_input_request":
      return [inputResult(event)];
    case "bb_turn_request": {
      const content = [{ type: "text", text: "Looks right." }];
      return [
        {
          event_type: "bb_turn_result",
          ...named,
          scope: event["scope"],
          success: true,
          stop_reason: "end_turn",
          content,
        },
      ];
    }
    case "bb_blob": {
      // One answer to an upload, at its first part, and one to a request.
      if (event["part"] !== undefined && event["part"] !== 0) return [];
      const message = "bytebot check keeps no bytes";
      return [{ event_type: "bb_error", ...named, code: "unavailable", message, retryable: false }];
    }
    case "bb_attach":
    case "bb_detach":
    case "bb_policy":
    case "bb_components":
    case "bb_tool_call_request": {
      const type = event.event_type === "bb_tool_call_request" ? "bb_tool_call_result" : `${event.event_type}_result`;
      const error = { code: "forbidden", message: "bytebot check grants no control", retryable: false };
      return [{ event_type: type, ...named, success: false, error }];
    }
    default:
      return [];
  }
}

function registered(tools: unknown): object[] {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool: { name?: unknown } | null) => {
    const name = String(tool?.name);
    return { id: `checked/${name}`, name, model_name: name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) };
  });
}

/** The person takes the first option; a free question is declined. */
function inputResult({ id, scope, options }: Event): Event {
  const first: unknown = Array.isArray(options) ? options[0] : undefined;
  const outcome =
    first === undefined
      ? { success: false, outcome: "declined" }
      : { success: true, outcome: "accepted", value: first };
  return { event_type: "bb_input_result", in_reply_to: id, ...(scope === undefined ? {} : { scope }), ...outcome };
}
