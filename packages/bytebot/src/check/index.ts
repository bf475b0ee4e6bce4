/** The conformance kit: whether a component, in any language, keeps the rules of the wire. */
export * from "./check.ts";
export * from "./report.ts";
export * from "./run.ts";
export { checks } from "./table.ts";
