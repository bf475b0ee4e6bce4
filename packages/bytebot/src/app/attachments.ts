import type { Hub, Offer } from "../hub/index.ts";
import { BytebotError, type Kind } from "../wire/index.ts";
import { Attachment } from "./attachment.ts";
import { normalize, type AttachOptions, type Component } from "./component.ts";
import { reach } from "./reach.ts";
import type { Reached } from "./reached.ts";

/** A component of the app. */
export interface Attached {
  /** Settles with the component's id when it has synced; rejects where it cannot be reached. */
  ready: Promise<string>;
  /** Settles when it has ended for good: why, and what its `main` threw. */
  ended: Promise<{ reason: string; error?: BytebotError }>;
}

export interface AttachmentsOptions {
  hub: Hub;
  /** The folder that relative references start from. */
  base: string;
  /** Is this id another component's, one that dialled in? */
  isTaken: (id: string) => boolean;
  report: (line: string) => void;
}

interface Pending {
  component: Component;
  options: AttachOptions;
  settle: PromiseWithResolvers<Attachment>;
  publicOnly: boolean;
}

interface Opening extends Pending {
  reached: Reached;
}

/** In this order they are connected, so that whoever may send finds everything there; within a step, in order of attachment. */
const ORDER: readonly (readonly (Kind | undefined)[])[] = [
  ["telemetry"],
  ["context"],
  ["infer"],
  ["toolsource", undefined],
  ["ui"],
];

/** What the app attached: found, connected at the start or at once, named for good. */
export class Attachments {
  /** Another infer was named the primary one, so that the rest are not, whichever comes first. */
  hasPrimaryInfer = false;
  private readonly options: AttachmentsOptions;
  private readonly attachments = new Map<string, Attachment>();
  private pending: Pending[] = [];
  private state: "waiting" | "started" | "stopped" = "waiting";

  constructor(options: AttachmentsOptions) {
    this.options = options;
  }

  has(id: string): boolean {
    return this.attachments.has(id);
  }

  /** `publicOnly`: a satellite named it, and not the app's own code. */
  add(component: Component, options: AttachOptions, publicOnly = false): Attached {
    const settle = Promise.withResolvers<Attachment>();
    const pending: Pending = { component, options, settle, publicOnly };
    const ready = settle.promise.then((attachment) => attachment.ready.then(() => attachment.id));
    const ended = settle.promise.then((attachment) => attachment.ended);
    // start() reports a failure, or whoever waits: that nobody does is no fault.
    for (const promise of [ready, ended]) promise.catch(() => undefined);
    if (this.state === "waiting") this.pending.push(pending);
    else
      this.reach(pending)
        .then((opening) => this.open(opening))
        .catch((error: unknown) => this.options.report(String(error)));
    return { ready, ended };
  }

  /** Connects everything added so far; rejects with the first failure. */
  async start(): Promise<void> {
    this.state = "started";
    const pending = this.pending;
    this.pending = [];
    const openings = await Promise.all(pending.map((each) => this.reach(each)));
    for (const kinds of ORDER) {
      for (const opening of openings) if (kinds.includes(opening.reached.kind)) await this.open(opening);
    }
  }

  async detach(componentId: string): Promise<void> {
    const attachment = this.attachments.get(componentId);
    if (!attachment)
      throw new BytebotError("not_found", `no component "${componentId}" is attached: components() lists them`);
    await attachment.stop("detached");
  }

  /** The last to come is the first to go: whoever may send leaves before what it needs. */
  async stop(reason: string): Promise<void> {
    this.state = "stopped";
    for (const { settle } of this.pending) settle.reject(new BytebotError("cancelled", reason));
    await Promise.all([...this.attachments.values()].reverse().map((attachment) => attachment.stop(reason)));
  }

  /** A name for good: `ingest`, then `ingest-2`. */
  newId(name: string): string {
    for (let count = 1; ; count++) {
      const id = count === 1 ? name : `${name}-${count}`;
      if (id !== "app" && !this.attachments.has(id) && !this.options.isTaken(id)) return id;
    }
  }

  /** Finds the component: its manifest, its kind, a way to connect. */
  private async reach(pending: Pending): Promise<Opening> {
    try {
      if (this.state === "stopped") throw new BytebotError("unavailable", "the app has stopped");
      const wanted = normalize(pending.component);
      const opening: Opening = {
        ...pending,
        reached: await reach(wanted, {
          base: this.options.base,
          print: (line) => this.options.report(`${opening.reached.name}: ${line}`),
          publicOnly: pending.publicOnly,
        }),
      };
      return opening;
    } catch (error) {
      pending.settle.reject(error);
      throw error;
    }
  }

  private async open({ reached, options, settle, publicOnly }: Opening): Promise<void> {
    const { hub, report } = this.options;
    const grant = this.grant(reached, options, publicOnly);
    if (reached.kind === "context") hub.expectContext(grant.componentId, grant.scopes ?? ["*"]);
    const attachment = new Attachment(hub, reached, grant, report);
    this.attachments.set(attachment.id, attachment);
    settle.resolve(attachment);
    void this.forgetWhenEnded(attachment, reached.kind);
    await attachment.ready;
  }

  private grant(
    reached: Reached,
    options: AttachOptions,
    publicOnly: boolean,
  ): Partial<Offer> & { componentId: string } {
    const { kind, name, scopes, remote } = reached;
    return {
      componentId: this.newId(name),
      primary: options.primary ?? !(kind === "infer" && this.hasPrimaryInfer),
      controller: options.controller ?? kind === "context",
      content: options.content ?? false,
      askFirst: options.askFirst ?? remote === true,
      principal: options.principal,
      vouches: options.vouches ?? (kind === "ui" && !publicOnly),
      ...(scopes ? { scopes } : {}),
    };
  }

  private async forgetWhenEnded(attachment: Attachment, kind: Kind | undefined): Promise<void> {
    const { reason, error } = await attachment.ended;
    this.attachments.delete(attachment.id);
    if (kind === "context" && reason === "detached") this.options.hub.expectContext(attachment.id, undefined);
    if (error) this.options.report(`${attachment.name} failed: ${error.message}`);
  }
}
