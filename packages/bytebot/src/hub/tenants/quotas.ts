import { tenantOf } from "../../wire/index.ts";

/** What one tenant may have at once (rules QTA-1 to QTA-7). */
export interface Quotas {
  /** Connections whose grant names the tenant's scopes; those of `*` belong to nobody. */
  connections: number;
  inferences: number;
  /** Tool calls that run; one that waits for a person or for a child turn does not count. */
  calls: number;
  /** Events that it may send in a second; chunks, and answers to the Hub's requests, do not count. */
  events: number;
  /** Bytes that its readers may leave unread, together. */
  buffered: number;
  /** Conversations in memory. */
  conversations: number;
}

export const defaultQuotas: Quotas = {
  connections: 16,
  inferences: 4,
  calls: 8,
  events: 500,
  buffered: 32 * 1024 * 1024,
  conversations: 10_000,
};

/** What to wait before the next try, where nothing says it better. */
export const RETRY_MS = 1000;

/** The tenants that a connection counts to: those its scopes name. */
export function tenantsOf(scopes: readonly string[]): ReadonlySet<string> {
  return scopes.includes("*") ? NONE : new Set(scopes.map(tenantOf));
}

const NONE: ReadonlySet<string> = new Set();
