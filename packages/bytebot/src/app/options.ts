import type { HubOptions, InputRule } from "../hub/index.ts";
import type { BlobStore, EventLog } from "../log/index.ts";
import type { ConversationInfo, PolicyRule } from "../wire/index.ts";
import type { Component } from "./component.ts";

export interface ByteBotOptions {
  ui?: Component;
  context?: Component;
  /** The folder that relative references start from; default: the working folder. */
  base?: string;
  name?: string;
  /** Default: in memory; `ByteBot.open` keeps it in a file. */
  log?: EventLog;
  /** Content by reference. Default: in memory. */
  blobs?: BlobStore;
  /**
   * How much each conversation's log keeps, in events and bytes; default: 5,000 and 8 MiB of the newest, at least.
   * `scopes`: otherwise for these and what is below them.
   */
  retention?: HubOptions["retention"];
  /** What becomes of turns that were cut off when the app ended: they go on (default), end, or wait for `resume`. */
  recovery?: HubOptions["recovery"];
  policy?: PolicyRule[];
  /**
   * What becomes of input that comes while a turn runs and names no `mode`, by scopes and what is below them; the last that
   * matches counts. Default: "queue".
   */
  input?: readonly InputRule[];
  /** Where the context is not there, go on with the plain transcript instead of ending the turn. */
  contextFallback?: boolean;
  /** Deadlines in milliseconds and counts; each has a default. */
  limits?: HubOptions["limits"];
  /** What one tenant may have at once; each has a default. */
  quotas?: HubOptions["quotas"];
  /**
   * What tenants may use up of tokens, cost, turns and calls, `per` hour, day or month or since the log began, by patterns
   * such as "u_*"; the last that matches counts, without one: no bound.
   */
  budgets?: HubOptions["budgets"];
  /** For budgets of cost: prices of a million tokens, by patterns of models. */
  prices?: HubOptions["prices"];
  /** May a satellite with the owner's events attach this reference, which runs its code here? Default: no. */
  mayAttach?: (ref: string) => boolean | Promise<boolean>;
  /**
   * The file in which tokens are kept that were made while the app runs (`mintToken`, `bytebot token`): their digests. Default:
   * in memory, so that they end with the app; `ByteBot.open` keeps them beside the log.
   */
  tokens?: string;
  /** A line for whoever runs the app: what a component printed, noise, a crash. Default: stderr. */
  report?: (line: string) => void;
}

export interface DurableOptions extends Omit<ByteBotOptions, "log" | "blobs" | "tokens"> {
  /** The path of its file, as in "bytebot.db". */
  file: string;
  /** "full" (default): acknowledged means on the disk. "normal": survives a kill of the process, not the loss of power. */
  synchronous?: "full" | "normal";
}

export interface SendOptions {
  id?: string;
  mode?: "queue" | "steer" | "replace" | "refuse";
  /** Who says it. */
  principal?: string;
  signal?: AbortSignal;
}

export interface ConversationsOptions {
  scope?: string;
  limit?: number;
  before?: string;
}

export interface ConversationsPage {
  conversations: ConversationInfo[];
  more: boolean;
}
