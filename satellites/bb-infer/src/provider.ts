import type * as bb from "bytebot/sdk";

/** What one request is answered with: where the reply goes, when to stop, and when to let the wire catch up. */
export interface InferContext {
  signal: AbortSignal;
  /** Resolves when what was sent has mostly left; awaited between deltas, so that a slow reader bounds memory. */
  drained(): Promise<void>;
}

/** A source of answers: a model in this process, or a server. */
export interface Provider {
  /** For people: which model answers, and from where. */
  readonly label: string;
  /** The media it can send on, by MIME type; absent: text alone. Blobs of these types come to it with their bytes. */
  readonly media?: RegExp;
  /** What the satellite says of it in `bb_sync` (rule CON-10). What is absent is not claimed. */
  readonly capabilities: Record<string, unknown>;
  /** Streams one reply. Rejects with BytebotError; after an abort with code `cancelled`. */
  infer(request: bb.InferRequestEvent, reply: bb.InferReply, context: InferContext): Promise<bb.InferEnd>;
  /** Frees the model or the connections. Requests still running end first, so abort them before. */
  close(): Promise<void>;
}
