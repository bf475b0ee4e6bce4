export type { Blobs, BlobStream, PutOptions } from "./blobs.ts";
export { defaultLimits, type CoreLimits } from "./core.ts";
export type { Retention } from "./cells.ts";
export { offer, type Offer } from "./grants.ts";
export { Hub, type Attached, type Ended, type HubOptions } from "./hub.ts";
export { systemClock, type Clock } from "./timers.ts";
