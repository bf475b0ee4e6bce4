import type { BlobStore, EventLog } from "../log/index.ts";
import type { Event, PolicyRule } from "../wire/index.ts";
import type { Budget, Price } from "./tenants/budget.ts";
import type { Retentions } from "./cells/retention.ts";
import type { CoreOptions } from "./core.ts";
import type { Grant } from "./grants.ts";
import type { ConnectionId } from "./effects.ts";
import { randomId } from "./ids.ts";
import { defaultLimits, type CoreLimits } from "./limits.ts";
import type { Recovery } from "./recovery/loading.ts";
import { defaultQuotas, type Quotas } from "./tenants/quotas.ts";
import type { Clock } from "./timers.ts";
import type { InputRule } from "./turn/mode.ts";

export interface HubOptions {
  name: string;
  version: string;
  log: EventLog;
  /** Content by reference; default: in memory. */
  blobs?: BlobStore;
  /** How much each cell's log keeps; what is older is trimmed, and a reader that comes too late gets `bb_snapshot`. */
  retention?: Retentions;
  /** What becomes of turns that were cut off with the Hub before this one: default "resume" (rule REC-4). */
  recovery?: Recovery;
  policy?: PolicyRule[];
  /** The mode of input that names none, by scopes: the last that matches counts; without one it waits its turn. */
  input?: readonly InputRule[];
  contextFallback?: boolean;
  limits?: Partial<CoreLimits>;
  quotas?: Partial<Quotas>;
  /** By patterns of tenants; those without one have none. What was used is kept with the log. */
  budgets?: Record<string, Budget>;
  /** By patterns of models: what a budget's cost is counted with. */
  prices?: Record<string, Price>;
  clock?: Clock;
  /** A random id with this prefix. */
  newId?: (prefix: string) => string;
  /** Carries out what only the app can: attach, detach, tokens. Answers the result event. */
  control?: (event: Event, asker: Controller) => Promise<Event>;
  /** What the people who run the Hub should know: noise on a link, a refused log, a fault. */
  report?: (line: string) => void;
}

/** Who asks the app for something: a connection, and what it was granted. */
export interface Controller {
  connection: ConnectionId;
  componentId: string;
  grant: Grant;
}

/** Why a connection ended: `expected` when the component said bye or the Hub closed it. */
export interface Ended {
  reason: string;
  expected: boolean;
}

/** A connection of the Hub's: `ready` settles when the component can work, `closed` when its link has ended. */
export interface Attached {
  id: ConnectionId;
  ready: Promise<void>;
  closed: Promise<Ended>;
  close(reason: string): Promise<void>;
}

/** What of it the core takes, with what was left out. */
export function withDefaults(options: HubOptions): Omit<CoreOptions, "resumeAfter"> {
  return {
    name: options.name,
    version: options.version,
    newId: options.newId ?? randomId,
    policy: options.policy ?? [],
    input: options.input ?? [],
    contextFallback: options.contextFallback ?? false,
    limits: { ...defaultLimits, ...options.limits },
    quotas: { ...defaultQuotas, ...options.quotas },
    budgets: options.budgets ?? {},
    prices: options.prices ?? {},
  };
}
