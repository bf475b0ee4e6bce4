/** An app: a Hub and its satellites. */
export { ByteBot, type Attached, type ByteBotOptions, type SendOptions } from "./app/bytebot.ts";
export type { AttachOptions, ByManifest, ByReference, Component, InProcess } from "./app/component.ts";
export type { EventsOptions } from "./app/watch.ts";
export type { CoreLimits } from "./hub/index.ts";
export { MemoryLog, type Entry, type EventLog, type NewEntry, type Place } from "./log/index.ts";
export { BytebotError, type ErrorCode, type Event, type EventOf, type PolicyRule } from "./wire/index.ts";
