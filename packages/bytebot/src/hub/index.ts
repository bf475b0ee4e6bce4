export type { Blobs, BlobStream, PutOptions } from "./blobs/blobs.ts";
export { defaultLimits, type CoreLimits } from "./limits.ts";
export type { Retention } from "./cells/cells.ts";
export { defaultQuotas, type Quotas } from "./tenants/quotas.ts";
export type { Budget, Price } from "./tenants/budget.ts";
export { offer, type Offer } from "./grants.ts";
export { Hub } from "./hub.ts";
export type { Attached, Ended, HubOptions } from "./options.ts";
export { systemClock, type Clock } from "./timers.ts";
