/** An app: a Hub and its satellites. */
import "./node.ts";

export { ByteBot, type ByteBotOptions, type SendOptions } from "./app/bytebot.ts";
export type { ConversationsOptions, ConversationsPage } from "./app/bytebot.ts";
export type { Attached } from "./app/attachments.ts";
export type { Grant } from "./app/credentials.ts";
export type { ServeOptions } from "./app/serve.ts";
export type { AttachOptions, ByManifest, ByReference, Component, InProcess } from "./app/component.ts";
export type { EventsOptions } from "./app/watch.ts";
export type { BlobStream, Budget, CoreLimits, InputRule, Price, PutOptions, Quotas, Retention } from "./hub/index.ts";
export { MemoryBlobs, MemoryLog, openSqliteLog } from "./log/index.ts";
export type {
  About,
  BlobQuota,
  BlobStore,
  BlobWriter,
  Entry,
  EventLog,
  NewEntry,
  Place,
  Spent,
  SqliteBlobs,
  SqliteLog,
  SqliteOptions,
  StoredBlob,
} from "./log/index.ts";
export type { MintedToken } from "./app/tokens.ts";
export {
  BytebotError,
  type ErrorCode,
  type Event,
  type EventOf,
  type PolicyRule,
  type TokenGrant,
  type TokenInfo,
} from "./wire/index.ts";
