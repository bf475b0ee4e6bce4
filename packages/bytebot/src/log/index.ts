export * from "./blobs.ts";
export * from "./cursor.ts";
export * from "./large.ts";
export * from "./log.ts";
export * from "./memory.ts";
export * from "./quota.ts";
export * from "./size.ts";
export * from "./sqlite/index.ts";
