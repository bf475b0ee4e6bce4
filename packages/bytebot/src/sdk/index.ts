/** What a satellite's author imports: `import * as bb from "bytebot/sdk"`. */
import "../node.ts";

export { loadInproc, startInproc, type Ambient, type Main } from "./ambient.ts";
export { dialHttp, serveHttp, type DialHttpOptions, type ServeHttpOptions, type Serving } from "./http.ts";
export type { InferEnd, InferReply, ToolUseReply } from "./reply.ts";
export type { RequestOptions } from "./requests.ts";
export type { ResolveOptions } from "./resolve.ts";
export { run } from "./run.ts";
export type { BlobOptions, Context, OpenaiRenderReply, RenderReply, Satellite, SendOptions } from "./satellite.ts";
export { currentScope, scoped } from "./scoped.ts";
export { sync, type SyncOptions } from "./sync.ts";
export { defineTool } from "./tools.ts";
export type { Answer, ChildTurn, Question, Tool, ToolCall, ToolOutput, TurnOptions } from "./tools.ts";
export type { BlobReading, BlobSource, PutBlobOptions } from "./transfers.ts";

export {
  BytebotError,
  encloses,
  printable,
  printableExactly,
  toScope,
  type ErrorCode,
  type WireError,
} from "../wire/index.ts";
export type {
  Block,
  BlobBlock,
  InputBlock,
  Message,
  OpenaiMessage,
  OpenaiPart,
  OpenaiTool,
  OpenaiToolCall,
  OpenaiToolChoice,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  Usage,
} from "../wire/index.ts";
export type {
  Event,
  EventOf,
  EventType,
  Kind,
  LineLimits,
  ModelTool,
  StopReason,
  ToolChoice,
  ToolDefinition,
} from "../wire/index.ts";
export type { BlockDelta, BlockStart, BlockStop, InferChunk, LoopDone } from "../wire/index.ts";
export type {
  Ack as AckEvent,
  ContextRenderRequest as ContextRenderRequestEvent,
  ErrorEvent,
  HistoryResult as HistoryResultEvent,
  InferRequest as InferRequestEvent,
  InferResult as InferResultEvent,
  InputReply as InputReplyEvent,
  InputResolved as InputResolvedEvent,
  InputState as InputStateEvent,
  InputStrict as InputStrictEvent,
  Interrupt as InterruptEvent,
  OpenaiInferRequest as OpenaiInferRequestEvent,
  OpenaiRenderRequest as OpenaiRenderRequestEvent,
  ScopeState as ScopeStateEvent,
  SyncAck as SyncAckEvent,
  ToolCallRequest as ToolCallRequestEvent,
  ToolCallResult as ToolCallResultEvent,
  ToolCallShown as ToolCallEvent,
  ToolProgressShown as ToolProgressEvent,
  ToolResultShown as ToolResultEvent,
  UserEvent,
} from "../wire/index.ts";
