import { encloses } from "../../wire/index.ts";

/** How much a cell's log keeps: at least so many events or bytes of the newest, and somewhat more at most. */
export interface Retention {
  events: number;
  bytes: number;
}

export interface Retentions extends Partial<Retention> {
  /** Otherwise for a scope and what is below it; the longest that encloses a cell counts. */
  scopes?: Record<string, Partial<Retention>>;
}

export const defaultRetention: Retention = { events: 5000, bytes: 8 * 1024 * 1024 };

/** What holds for each cell. */
export function retentionOf({ scopes = {}, ...all }: Retentions): (cell: string) => Retention {
  const common = { ...defaultRetention, ...all };
  const own = Object.entries(scopes)
    .map(([scope, some]): [string, Retention] => [scope, { ...common, ...some }])
    .sort(([a], [b]) => b.length - a.length);
  return (cell) => own.find(([scope]) => encloses(scope, cell))?.[1] ?? common;
}
