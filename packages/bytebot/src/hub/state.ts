import type {
  Block,
  Event,
  InputReply,
  Message,
  ModelTool,
  Pieces,
  StopReason,
  ToolChoice,
  ToolDefinition,
  WireError,
} from "../wire/index.ts";
import type { About } from "../log/index.ts";
import type { Bucket } from "./tenants/bucket.ts";
import type { ConnectionId, Effect } from "./effects.ts";
import type { Grant, Offer } from "./grants.ts";
import type { Weight } from "./turn/fit.ts";
import type { Place, Rendered } from "./turn/incremental.ts";
import type { Recent } from "./recent.ts";
import type { XmlAnswer } from "./turn/xml.ts";
import type { Outcome, Schema } from "./tools/schema.ts";

/** A connection's life: new (nothing said yet) → synced (granted) → gone from the map. */
export type Connection =
  | { state: "new"; id: ConnectionId; offer: Offer; faults: Bucket; deaf?: true }
  | {
      state: "synced";
      id: ConnectionId;
      offer: Offer;
      /** What it may send that is refused, before it is closed; then it is not heard any more. */
      faults: Bucket;
      deaf?: true;
      grant: Grant;
      /** Cells whose open state it has not been shown yet: nothing live of them until then. */
      joining: Set<string>;
      /** It asked for what is older: undefined where it did not. */
      resume: Resume | undefined;
      /** Its registrations whose schemas are being checked: a later one waits for them. */
      registering: number;
      /** The newest requests it got that ended without its answer, and their scopes: a late one is for the audit only. */
      ended: Recent<string, string>;
    };
export type New = Extract<Connection, { state: "new" }>;
export type Synced = Extract<Connection, { state: "synced" }>;

/** A reader that is shown the log after a place in it, and only then what happens (rules RPL-3 and RPL-6). */
export interface Resume {
  /** The order of an entry, and how far it was seen: Infinity is the whole of it. */
  after: { order: number; index: number };
  /** The open questions it was shown on joining: the log has them too. */
  questions: Set<string>;
  /** The scopes whose state it was shown on joining. */
  scopes: Set<string>;
  /** The order up to which it has been shown everything: from there on it is live. Undefined: it still reads. */
  through: number | undefined;
}

/** A tool as registered. `hash` covers everything the model and the person were shown. */
export interface Tool {
  definition: ToolDefinition;
  componentId: string;
  component: string;
  hash: string;
  schema: Schema;
}

/** Who waits for the answer to which request of its own. */
export interface Asker {
  connection: ConnectionId;
  /** Its component: after a crash the answer goes to whatever connection that has. */
  component: string;
  id: string;
  /** Who the person is, where that is known. */
  principal?: string;
  /** It was told that the log refused its work: what the log says of it in the end is for when it asks again. */
  told?: true;
}

export interface Input {
  id: string;
  event: Event;
  content: Block[];
  /** An interrupt reached it before it was delivered: it goes back to who sent it. */
  returning?: true;
  /** Whoever waits for the whole turn: `bb_turn_request`; from a tool, within its call. */
  requester?: Asker & { callId?: string };
}

/** A block of the running inference, as far as it has come. */
export interface OpenBlock {
  index: number;
  type: "text" | "thinking" | "tool_use";
  name?: string;
  callId?: string;
  /** Its deltas so far. */
  said: Pieces;
  /** Something of it was refused: what is there is not all of it (rule CHK-6). */
  cut?: true;
}

export type CallStatus = "ok" | "error" | "denied" | "cancelled" | "timeout" | "lost";

export interface Call {
  id: string;
  tool: Tool | undefined;
  name: string;
  modelName: string;
  input: unknown;
  loopId: string | undefined;
  /** returning: the Hub was restarted, and it goes on when its tool is there again; checking: its arguments are, by the schemas' thread; asking: a person decides; queued: until its tenant has room; running: sent; waiting: its link was lost and it may go out again; done. */
  state: "returning" | "checking" | "asking" | "queued" | "running" | "waiting" | "done";
  to: ConnectionId | undefined;
  /** Milliseconds since 1970; undefined while its clock stands still for a question. */
  deadline: number | undefined;
  /** What is left of its time while a question of its is open. */
  left: number;
  status?: CallStatus;
  content?: Block[];
  /** The scopes in which it asked for child turns. */
  children?: Set<string>;
  /** It was told to stop, and has until then. */
  stopBy?: number;
  /** The owner that asked for it directly. */
  requester?: Asker;
  /** Who allowed it, where somebody was asked and is known. */
  approvedBy?: string;
  /** The hash of the tool as somebody approved it for this call. */
  approved?: string;
  /** Of one that is returning: what is known of it. */
  held?: HeldCall;
}

/** What the log says of a call that has no result (rule REC-4). */
export interface HeldCall {
  /** It was sent: `again` says to which tool it may go out once more, where it is idempotent. */
  sent: boolean;
  again?: { componentId: string; hash: string };
  /** The hash of the tool as the person approved it for this call. */
  approved?: string;
  /** The hash of the tool that a person is asked about. */
  hash?: string;
  /** Why it cannot run at all. */
  refusal?: { status: "error" | "denied"; why: string };
  /** It was refused, and is in the log as such; what is missing is its result. */
  shown?: true;
  /** It was told to stop. */
  stopped?: true;
  /** It may run as soon as its tool is there. */
  goes?: true;
}

/** Where a turn stood when the Hub was cut off, as its log says (rule REC-1). */
export interface Held {
  step: "held";
  /** asking: its round is to be asked for; inferring: `request` has no result; ended: only the turn's end is missing. */
  at: "asking" | "inferring" | "calling" | "ended";
  request: string;
  /** What the inference has said, by index. */
  blocks: Block[];
  /** Of the round, in the order of their blocks. */
  calls: Call[];
  /** Steers that the next round brings. */
  due: Input[];
  end: { stopReason: StopReason; error?: WireError } | undefined;
}

/** Where a turn stands: exactly one thing is awaited. */
export type Phase =
  | {
      step: "rendering";
      request: string;
      to: ConnectionId;
      /** What its `history` reaches to. */
      upto: Place;
      whole: boolean;
    }
  | {
      step: "inferring";
      request: string;
      to: ConnectionId;
      n: number;
      /** Whose signature its thinking carries (rule CNV-8). */
      origin: string;
      /** Characters of its deltas so far. */
      size: number;
      /** When the infer was last heard, in milliseconds since 1970. */
      heard: number;
      open: Map<number, OpenBlock>;
      blocks: Block[];
      /** The tools that this request offered, by their names for the model. */
      offered: ReadonlyMap<string, Tool>;
      /** Reads calls out of the text, where the infer has no tools of its own. */
      xml: XmlAnswer | undefined;
    }
  | { step: "calling"; calls: Call[] }
  | Held
  /** Until its tenant has room for an inference, or its infer is back. */
  | { step: "waiting" }
  | { step: "pausing" };

/** What one round sends, chosen by the context or by default; a repeated attempt sends the same. */
export interface Round {
  /** By its name, where the context chose one; else the primary. */
  infer: string | undefined;
  offered: Map<string, Tool>;
  fields: {
    model?: string;
    system?: string;
    messages: Message[];
    tools?: ModelTool[];
    tool_choice?: ToolChoice;
    params?: Record<string, unknown>;
  };
}

export interface Turn {
  loopId: string;
  input: Input;
  round: number;
  attempt: number;
  phase: Phase;
  current: Round | undefined;
  steers: Input[];
  calls: number;
  lastCall: string;
  sameCalls: number;
  /** That it and the turns below it have used. */
  tokens: number;
  stopping: { reason: string; until: number } | undefined;
}

/** A person's yes that binds longer than one call (rule POL-4). */
export interface Approval {
  /** Milliseconds since 1970. */
  until: number;
  /** Who gave it, where that is known. */
  by?: string;
  /** It holds in the conversations below too. */
  below?: true;
}

/** Who ended a question. */
export interface Answerer {
  component?: string | undefined;
  principal?: string | undefined;
  /** How long an approval is to bind at most, in milliseconds since 1970. */
  until?: number | undefined;
}

export interface Question {
  id: string;
  event: Event;
  schema: Schema | undefined;
  /** Answers that wait until the one before them is checked; undefined: none is being checked. */
  checking: { connection: ConnectionId; reply: InputReply }[] | undefined;
  asker:
    | { type: "call"; connection: ConnectionId; component: string; request: string; call: Call }
    | { type: "context"; connection: ConnectionId; component: string; request: string }
    | { type: "approval"; call: Call }
    /** Who asked is gone, with the Hub before this one. */
    | { type: "gone" };
}

/** A request by its id: what was sent, and the answer it got as soon as there is one. */
export interface Seen {
  /** What was sent; or its hash, or neither, where the log alone knows it: see `sameAs`. */
  event?: Event;
  hash?: string;
  answer?: Effect;
  /** The connection that has sent it again, where its component has another id by now. */
  again?: ConnectionId;
}

/** One exact scope: one transcript, one queue of turns. */
export interface Conversation {
  scope: string;
  cell: string;
  /** What lists say of it; undefined: nothing was said in it yet, or it is a child conversation. */
  about: About | undefined;
  messages: Message[];
  rendered: Rendered | undefined;
  weight: Weight | undefined;
  queue: Input[];
  turn: Turn | undefined;
  /** Everything that was called and has not ended, the owner's own calls too. */
  calls: Map<string, Call>;
  questions: Map<string, Question>;
  /** The newest requests by component and id: the same again gets the same answer. */
  seen: Map<string, Recent<string, Seen>>;
  /** Calls of it wait for their tools to be back. */
  awaitsTools: boolean;
  /** When the next grace ends, where something was told to stop. */
  graceAt: number | undefined;
  /** Approved for this conversation, the newest, by tool and arguments. */
  approved: Recent<string, Approval>;
}

/** A check in the schemas' thread. `of`: who is told when it comes to nothing. */
export interface Checking {
  of: { connection: ConnectionId; event: Event } | undefined;
  goOn: (outcome: Outcome) => void;
}

/** What a request of the Hub's is for, by its id. An answer counts only from the connection it went to. */
export interface Pending {
  to: ConnectionId;
  scope: string;
  kind: "render" | "infer" | "call";
  /** Of a call: questions and child turns it waits for; while there are any it takes no room (rule QTA-2). */
  resting: number;
}

export type { Block, Message, StopReason, WireError };
