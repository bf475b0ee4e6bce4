/** The conformance kit: whether a component, in any language, keeps the rules of the wire. */
export { wayOf, type Tested, type Way } from "./channel.ts";
export * from "./check.ts";
export { Listening } from "./http/listening.ts";
export * from "./report.ts";
export * from "./run.ts";
export { checks } from "./table.ts";
