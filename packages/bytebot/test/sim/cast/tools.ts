import type { Offer } from "../../../src/hub/index.ts";
import type { Event } from "../../../src/wire/index.ts";
import type { Stage } from "../stage.ts";
import { Actor } from "./actor.ts";
import { FORGED } from "./forged.ts";

type Request = Event & { call_id: string; scope: string; name: string };

/** The tools that may be called again under the same id. */
export const IDEMPOTENT: ReadonlySet<string> = new Set(["read", "fetch"]);

/** A toolsource: it answers, fails, is late or never answers, dies in a call, changes its schema, asks, starts child turns. */
export class ToolActor extends Actor {
  private readonly names: readonly string[];
  private readonly stopped = new Set<string>();
  private version = 0;
  /** What it works on, with the answer it will have. */
  private readonly inHand = new Map<string, Event>();
  private hubs = 0;

  constructor(stage: Stage, name: string, names: readonly string[], fields: Partial<Offer> = {}) {
    super(stage, "toolsource", name, fields);
    this.names = names;
  }

  protected override joined(): void {
    const hubs = this.stage.cuts.length;
    if (hubs > this.hubs && this.random.chance(0.4)) this.version++;
    this.register();
    if (hubs === this.hubs) return;
    this.hubs = hubs;
    // What it did for a Hub that was killed meanwhile.
    for (const answer of this.inHand.values()) if (this.random.chance(0.3)) this.say(answer);
    this.inHand.clear();
  }

  protected override repeat(): void {
    // What it asked was within calls that are no more.
  }

  private register(): void {
    const tools = this.names.map((name) => ({
      name,
      // A private toolsource is of one tenant: its words too are behind the wall.
      description: this.offer.scopes[0] === "*" ? `${name} ${this.version}` : this.stage.canary(this.offer.scopes[0]!),
      input_schema: { type: "object", properties: { path: { type: "string" } } },
      annotations: { idempotent: IDEMPOTENT.has(name), destructive: name === "drop" },
      ...(this.random.chance(0.3) ? { timeout_ms: 1500 } : {}),
    }));
    this.say({ event_type: "bb_tool_register", id: this.newId(), tools });
  }

  protected hear(event: Event): void {
    if (event.event_type === "bb_tool_call_request") this.call(event as Request);
    if (event.event_type === "bb_cancel") this.cancelled(String(event["target"]));
  }

  private call(request: Request): void {
    const { random, stage } = this;
    const answer = this.answer(request);
    const soon = random.below(60);
    // One that may be asked for again waits until it is.
    if (stage.settings.hard && !IDEMPOTENT.has(request.name)) this.inHand.set(request.call_id, answer);
    const answerIn = (ms: number): void => this.later(ms, () => this.finish(request, answer));
    if (stage.calm) return this.finish(request, answer);
    if (this.maybeDie()) return;
    const progress = { event_type: "bb_tool_progress", call_id: request.call_id, text: stage.canary(request.scope) };
    random.weighted([
      [50, () => answerIn(soon)],
      [8, () => this.later(soon, () => this.finish(request, this.failure(request)))],
      [8, () => [this.say(progress), this.say({ ...progress, fraction: 0.5 }), answerIn(random.between(10, 900))]],
      [3, () => answerIn(random.between(2000, 4000))],
      [2, () => undefined],
      [5, () => this.later(soon, () => [this.say(answer), this.say({ ...answer, scope: this.elsewhere() })])],
      [3, () => this.later(soon, () => [this.say({ ...answer, scope: "elsewhere" }), this.finish(request, answer)])],
      [4, () => this.later(soon, () => [this.changed(), this.finish(request, answer)])],
      [10, () => this.ask(request, () => answerIn(0))],
      [8, () => this.child(request, () => answerIn(0))],
      [6, () => [this.forge(), answerIn(soon)]],
    ])();
  }

  /** What it has to say, unless it was told to stop. */
  private finish(request: Request, answer: Event): void {
    this.inHand.delete(request.call_id);
    if (!this.stopped.has(request.call_id)) this.say(answer);
  }

  private answer({ call_id, scope }: Request): Event {
    const content = [{ type: "text", text: `done for ${this.stage.canary(scope)}` }];
    return { event_type: "bb_tool_call_result", call_id, success: true, content };
  }

  private failure({ call_id, scope }: Request): Event {
    const error = { code: "not_found", message: `nothing for ${this.stage.canary(scope)}`, retryable: false };
    return { event_type: "bb_tool_call_result", call_id, success: false, error };
  }

  private cancelled(call_id: string): void {
    const error = { code: "cancelled", message: "stopped", retryable: false };
    const answer = { event_type: "bb_tool_call_result", call_id, success: false, error };
    if (!this.stage.quiet && this.stage.settings.crash > 0 && this.random.chance(0.3))
      return this.die("it crashed when told to stop");
    this.random.weighted<() => unknown>([
      [60, () => [this.stopped.add(call_id), this.later(this.random.below(300), () => this.say(answer))]],
      [20, () => this.stopped.add(call_id)],
      [20, () => undefined],
    ])();
  }

  private elsewhere(): string {
    return this.random.pick(["ta/c1", "tb/c1", "tc/c1"]);
  }

  private changed(): void {
    this.version++;
    this.register();
  }

  private ask({ call_id, scope }: Request, then: () => void): void {
    const prompt = `May I, ${this.stage.canary(scope)}?`;
    this.say({ event_type: "bb_input_request", id: this.newId(), call_id, prompt, options: ["yes", "no"] });
    this.later(this.random.between(100, 2500), then);
  }

  private child({ call_id, scope }: Request, then: () => void): void {
    if (scope.split("/").length > 4) return then();
    const below = `${scope}/~k${this.random.below(2)}`;
    const turn = {
      event_type: "bb_turn_request",
      id: this.newId(),
      call_id,
      scope: below,
      content: this.stage.text(below),
      ...(this.random.chance(0.3) ? { budget: this.random.pick([{ rounds: 1 }, { calls: 1 }, { tokens: 2 }]) } : {}),
    };
    this.say(turn);
    if (this.random.chance(0.2)) this.say(turn);
    this.later(this.random.between(100, 2000), then);
  }

  /** It answers a call that went to another, and asks within it. */
  private forge(): void {
    const { gossip } = this.stage;
    const stolen = gossip.steal(gossip.calls, this.random, ({ line }) => line.offer === this.offer);
    if (!stolen) return;
    const content = [{ type: "text", text: FORGED }];
    this.say({ event_type: "bb_tool_call_result", call_id: stolen.id, success: true, content });
    this.say({ event_type: "bb_tool_progress", call_id: stolen.id, text: FORGED });
    this.say({ event_type: "bb_input_request", id: this.newId(), call_id: stolen.id, prompt: FORGED });
    const scope = `${stolen.scope}/~forged`;
    this.say({ event_type: "bb_turn_request", id: this.newId(), call_id: stolen.id, scope, content: FORGED });
  }
}
