export * from "./blobs.ts";
export * from "./large.ts";
export * from "./log.ts";
export * from "./memory.ts";
export * from "./size.ts";
