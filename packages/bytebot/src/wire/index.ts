/** The wire: events, framing, errors, scopes. Imports nothing but zod. */
export * from "./ack.ts";
export * from "./bytes.ts";
export * from "./check.ts";
export * from "./codec.ts";
export * from "./content.ts";
export * from "./convert/index.ts";
export { isSentDelta, isStampedDelta, mergeDeltas, type StampedDelta } from "./delta.ts";
export * from "./envelope.ts";
export * from "./errors.ts";
export * from "./events/index.ts";
export * from "./framer.ts";
export * from "./kinds.ts";
export * from "./limits.ts";
export { Pieces } from "./pieces.ts";
export * from "./scope.ts";
export * from "./shorten.ts";
export * from "./validate.ts";
export * from "./xml/index.ts";
