export * from "./child.ts";
export { assertOwn, ownFolder } from "./folder.ts";
export * from "./http/index.ts";
export * from "./inproc.ts";
export * from "./late.ts";
export * from "./lines.ts";
export * from "./link.ts";
export * from "./process.ts";
export * from "./socket.ts";
