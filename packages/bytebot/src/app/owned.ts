import { isDeepStrictEqual } from "node:util";
import { as, BytebotError, validate, wide } from "../wire/index.ts";
import type { Event, EventOf, Sync } from "../wire/index.ts";
import { processLink, type Link, type Receiver } from "../transport/index.ts";
import type { Attached } from "./attachments.ts";
import type { ByteBot } from "./bytebot.ts";
import type { Component } from "./component.ts";
import { version } from "./version.ts";

/** Until the owner has said bb_sync (rule CON-2). */
const SYNC_MS = 10_000;
/** Requests that were not answered yet. */
const MAX_OPEN = 10_000;
const BLOB_BYTES = 64 * 1024 * 1024;

type Answer = (hub: ByteBot, event: Event, signal: AbortSignal) => Promise<Event>;

/** What carries the owner's own `id` on: sent again with it, nothing happens twice (rules ENV-3 and REC-3). */
const once: Answer = (hub, event, signal) => hub.relay(event, signal);
/** Of others the `id` says only which answer is whose. */
const asked: Answer = (hub, event, signal) => {
  const { id: _, ...rest } = event;
  return hub.relay({ ...rest, event_type: event.event_type }, signal);
};

/** What an owner may ask of the app it started, and what that does. */
const answers: Record<string, Answer> = {
  bb_attach: async (hub, event) => {
    const component_id = await attach(hub, as("bb_attach", event)).ready;
    return { event_type: "bb_attach_result", success: true, component_id };
  },
  bb_detach: async (hub, event) => {
    await hub.detach(as("bb_detach", event).component_id);
    return { event_type: "bb_detach_result", success: true };
  },
  bb_policy: asked,
  bb_components: async (hub) => ({
    event_type: "bb_components_result",
    success: true,
    components: await hub.components(),
  }),
  bb_token: asked,
  bb_conversations: asked,
  bb_rename: asked,
  bb_fork: asked,
  bb_delete: asked,
  bb_tool_call_request: once,
  user_event: once,
  interrupt: once,
};

/**
 * Has the program that started this one own the app, over stdin and stdout. Resolves when it has gone, or at the signal,
 * after the app has stopped.
 */
export async function ownOverStdio(hub: ByteBot, signal: AbortSignal): Promise<void> {
  const owner = new Owned(hub);
  const link = processLink(owner);
  owner.serve(link);
  const stop = () => owner.closed("it was stopped");
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const late = setTimeout(() => owner.late(), SYNC_MS);
  const reason = await owner.gone;
  clearTimeout(late);
  await hub.stop(reason);
  await link.close(reason);
}

/** The owner's end of an app that another program started: its requests come over a link, what happens goes back. */
class Owned implements Receiver {
  /** Settles when the owner has gone: why. */
  readonly gone: Promise<string>;
  private readonly hub: ByteBot;
  private readonly left: (reason: string) => void;
  private readonly over = new AbortController();
  private link: Link | undefined;
  private state: "new" | "synced" = "new";
  private open = 0;
  /** Takes its blobs, once it has synced. */
  private blobs: ((event: Event) => void) | undefined;

  constructor(hub: ByteBot) {
    this.hub = hub;
    const gone = Promise.withResolvers<string>();
    this.gone = gone.promise;
    this.left = gone.resolve;
  }

  /** Takes what comes over this link. */
  serve(link: Link): void {
    this.link = link;
  }

  event(event: Event): void {
    if (event.event_type === "bb_bye") return this.closed("its owner said goodbye");
    if (event.event_type === "bb_ping") return this.answer(event, { event_type: "bb_pong" });
    if (["bb_ack", "bb_pong"].includes(event.event_type)) return;
    try {
      validate(event);
      // Of what is told to it, that it gives up a blob concerns the Hub.
      if (event.event_type === "bb_error") return this.blobs?.(event);
      if (this.state === "new") this.sync(event);
      else if (event.event_type === "bb_blob") this.blobs?.(event);
      else void this.serves(event);
    } catch (error) {
      this.refuse(event, error);
    }
  }

  fault(error: BytebotError): void {
    this.link?.send({ event_type: "bb_error", ...error.toWire() });
  }

  closed(reason: string): void {
    this.over.abort(new BytebotError("cancelled", reason));
    this.left(reason);
  }

  /** It should have synced by now. */
  late(): void {
    if (this.state === "synced") return;
    const error = new BytebotError("timeout", `no bb_sync within ${SYNC_MS / 1000} s`);
    this.fault(error);
    this.closed(error.message);
  }

  private sync(event: Event): void {
    if (event.event_type !== "bb_sync") throw new BytebotError("not_synced", "the first event is bb_sync");
    const { kind, owner, types }: Sync = as("bb_sync", event);
    if (kind !== "ui" || owner !== true) {
      const message = `this Hub is its owner's alone: sync with {"kind":"ui","owner":true}`;
      throw new BytebotError("forbidden", message);
    }
    this.state = "synced";
    this.blobs = this.hub.carryBlobs(
      (answer) => this.link?.send(answer),
      async () => this.link?.drained(),
    );
    this.link?.limit(wide);
    this.link?.send({
      event_type: "bb_sync_ack",
      component_id: "app",
      protocol_version: 1,
      kind: "ui",
      scopes: ["*"],
      input_capable: false,
      primary: false,
      controller: false,
      owner: true,
      limits: { ...wide, blob_bytes: BLOB_BYTES },
      hub: { name: "bytebot", version },
    });
    if (!isDeepStrictEqual(types, [])) void this.tell(types);
  }

  /** Everything that happens, as copies: they are marked as what telemetry gets, and as little to be answered. */
  private async tell(types: readonly string[] | undefined): Promise<void> {
    const { signal } = this.over;
    while (!signal.aborted) {
      try {
        for await (const event of this.hub.events("*", { signal, ...(types ? { types } : {}) })) {
          this.link?.send({ ...event, observed: true });
          await this.link?.drained();
        }
        return;
      } catch (error) {
        this.fault(BytebotError.from(error));
      }
    }
  }

  private async serves(event: Event): Promise<void> {
    try {
      const work = Object.hasOwn(answers, event.event_type) ? answers[event.event_type] : undefined;
      if (!work) throw new BytebotError("forbidden", `an owner does not send ${event.event_type} here`);
      if (this.open >= MAX_OPEN) throw new BytebotError("overloaded", `${MAX_OPEN} requests have no answer yet`);
      this.open++;
      try {
        this.answer(event, await work(this.hub, event, this.over.signal));
      } finally {
        this.open--;
      }
    } catch (error) {
      this.refuse(event, error);
    }
  }

  private answer(request: Event, answer: Event): void {
    const { in_reply_to: _, ...rest } = answer;
    const id = request["id"];
    this.link?.send({ ...rest, event_type: answer.event_type, ...(typeof id === "string" ? { in_reply_to: id } : {}) });
  }

  private refuse(request: Event, thrown: unknown): void {
    const error = BytebotError.from(thrown).toWire();
    const { event_type } = request;
    const hasResult = ["bb_attach", "bb_detach", "bb_token"].includes(event_type) && typeof request["id"] === "string";
    if (hasResult) this.answer(request, { event_type: `${event_type}_result`, success: false, error });
    else this.answer(request, { event_type: "bb_error", ...error });
  }
}

function attach(hub: ByteBot, event: EventOf<"bb_attach">): Attached {
  const { ref, kind, opts, primary } = event;
  // What the app grants beyond the defaults; an owner says it as the app's own code would.
  const {
    name,
    env,
    scopes,
    token,
    controller,
    content,
    principal,
    vouches,
    ask_first: askFirst,
  } = event as Partial<
    Record<
      "name" | "env" | "scopes" | "token" | "controller" | "content" | "principal" | "vouches" | "ask_first",
      never
    >
  >;
  const component: Component = { ref, kind, opts, name, env, scopes, token };
  if (kind === "infer") return hub.attachInfer(component, { primary });
  return hub.attach(component, { primary, controller, content, principal, vouches, askFirst });
}
