import type { Event } from "../../../src/wire/index.ts";
import type { Offer } from "../../../src/hub/index.ts";
import type { Stage } from "../stage.ts";
import { Actor } from "./actor.ts";
import { FORGED } from "./forged.ts";

/** A person at a UI: sends in every mode, interrupts, answers, leaves, comes back, and tries what is not theirs. */
export class UiActor extends Actor {
  readonly tenant: string;
  protected readonly scopes: readonly string[];
  private readonly others: readonly string[];
  private moves: number;
  private said: Event[] = [];
  /** By scope: the `seq` of the last end of a turn that it saw. */
  private readonly ends = new Map<string, unknown>();
  private forks = 0;

  /** `scopes`: the conversations it talks in; `others`: tenants that are not its own. */
  constructor(
    stage: Stage,
    name: string,
    tenant: string,
    scopes: readonly string[],
    others: readonly string[],
    fields: Partial<Offer> = {},
  ) {
    super(stage, "ui", name, { scopes: [tenant], ...fields });
    this.tenant = tenant;
    this.scopes = scopes;
    this.others = others;
    this.moves = stage.settings.moves;
    this.next();
  }

  private next(): void {
    this.stage.time.in(this.random.below(1600), () => {
      if (this.moves-- <= 0 || this.stage.quiet) return;
      if (this.line) this.move();
      this.next();
    });
  }

  protected move(): void {
    const { random } = this;
    random.weighted([
      [50, () => this.send(random.pick(["queue", "queue", "queue", "steer", "steer", "replace", "refuse", undefined]))],
      [10, () => [this.send("queue"), this.send("queue"), this.send("steer")]],
      [8, () => this.again()],
      [14, () => this.interrupt(random.pick([...this.scopes, this.tenant]))],
      [8, () => this.die("the page was closed")],
      [3, () => this.say({ event_type: "bb_bye", reason: "done" })],
      [5, () => this.history()],
      [
        4,
        () => this.say({ event_type: "com.example/typing", scope: this.scope(), who: this.stage.canary(this.tenant) }),
      ],
      [8, () => this.passing()],
      [14, () => this.trespass()],
      [this.stage.settings.hard ? 12 : 0, () => this.regret(this.scope())],
    ])();
  }

  protected hear(event: Event): void {
    if (event.event_type === "input_strict") this.question(event);
    if (event["kind"] === "loop_done" && event["seq"] !== undefined)
      this.ends.set(String(event["scope"]), event["seq"]);
  }

  protected override resume(): Record<string, unknown> {
    if (this.random.chance(0.1)) return { resume: "start" };
    return this.cursor !== undefined && this.random.chance(0.7) ? { resume: [this.cursor] } : {};
  }

  protected scope(): string {
    const scope = this.random.pick(this.scopes);
    return this.random.chance(0.12) ? `${scope}/~k${this.random.below(2)}` : scope;
  }

  /** A message of its own; the newest are kept, to be sent again. */
  send(mode: string | undefined, scope = this.scope()): Event {
    const event = {
      event_type: "user_event",
      id: this.newId(),
      type: "message",
      scope,
      text: this.stage.text(scope),
      ...(mode === undefined ? {} : { mode }),
    };
    this.said = [...this.said.slice(-5), event];
    this.say(event);
    return event;
  }

  private message(id: string): Event {
    return { event_type: "user_event", id, type: "message", scope: this.scope(), text: FORGED };
  }

  /** A conversation that comes and goes. Its inputs have no id: what is sent again after it was deleted is new. */
  private passing(): void {
    const { random, tenant } = this;
    const scope = `${tenant}/d${random.below(3)}`;
    const say = (to: string): void =>
      this.say({ event_type: "user_event", type: "message", scope: to, text: this.stage.text(to) });
    for (let n = random.below(3); n >= 0; n--) say(scope);
    this.later(random.below(3000), () =>
      random.weighted<() => void>([
        [3, () => this.say({ event_type: "bb_delete", id: this.newId(), scope })],
        [2, () => this.say({ event_type: "bb_rename", id: this.newId(), scope, title: this.stage.canary(scope) })],
        [1, () => this.say({ event_type: "bb_conversations", id: this.newId() })],
        [4, () => this.fork(scope, `${tenant}/f-${this.offer.componentId}-${this.forks++}`, say)],
      ])(),
    );
  }

  private fork(scope: string, to: string, say: (to: string) => void): void {
    this.say({ event_type: "bb_fork", id: this.newId(), scope, at: this.ends.get(scope) ?? 256, to });
    if (this.random.chance(0.5)) this.later(this.random.below(300), () => say(to));
  }

  /** As after a lost acknowledgement; or, wrongly, with other words under the same id. */
  private again(): void {
    if (this.said.length === 0) return;
    const event = this.random.pick(this.said);
    this.say(
      this.random.chance(0.7) ? event : { ...event, text: `${this.stage.text(String(event["scope"]))} changed` },
    );
  }

  private interrupt(scope: string): void {
    const id = this.random.chance(0.7) ? { id: this.newId() } : {};
    const event = { event_type: "interrupt", scope, ...id };
    this.say(event);
    if (this.random.chance(0.2)) this.say(event);
  }

  /** It says more than it wants, and stops all of it. */
  private regret(scope: string): void {
    for (const mode of ["queue", "queue", "steer"]) this.send(mode, scope);
    this.later(this.random.below(200), () => this.interrupt(scope));
  }

  private history(): void {
    this.say({ event_type: "bb_history_request", id: this.newId(), scope: this.random.pick(this.scopes), limit: 20 });
  }

  private question({ id, options }: Event): void {
    const { random } = this;
    const valid = { outcome: "accepted", value: random.pick(options as string[]) };
    const reply = (fields: Record<string, unknown>): void =>
      this.say({ event_type: "input_reply", id: this.newId(), in_reply_to: id, ...fields });
    if (this.stage.calm) return reply(valid);
    // A Hub that has just been started may be killed again before it goes on.
    const soon = this.stage.settings.hard && random.chance(0.5);
    if (soon) return reply({ outcome: "accepted", value: random.pick(["once", "deny", "deny"]) });
    this.later(random.below(2500), () =>
      random.weighted([
        [60, () => reply(valid)],
        [8, () => [reply({ outcome: "accepted", value: "neither" }), reply(valid)]],
        [8, () => reply({ outcome: "declined" })],
        [4, () => reply({ ...valid, principal: `owner-${this.tenant}` })],
        [4, () => reply({ ...valid, expires_at: this.stage.time.now() + random.below(5000) })],
        [4, () => reply({ outcome: "who knows" })],
        [20, () => undefined],
      ])(),
    );
  }

  /** Everything here belongs to others, and nothing of it may happen (hard case 36). */
  private trespass(): void {
    const { random } = this;
    const { gossip } = this.stage;
    const other = random.pick(this.others);
    const foreign = `${other}/c1`;
    const id = this.newId();
    const mine = ({ scope }: { scope: string }): boolean => scope.split("/")[0] === this.tenant;
    const question = gossip.steal(gossip.questions, random, mine);
    const call = gossip.steal(gossip.calls, random, mine);
    const request = gossip.steal(gossip.requests, random, mine);
    random.weighted([
      [3, () => this.say({ event_type: "user_event", id, type: "message", scope: foreign, text: FORGED })],
      [3, () => this.say({ event_type: "interrupt", id, scope: random.pick([other, foreign]) })],
      [2, () => this.say({ event_type: "bb_history_request", id, scope: foreign })],
      [1, () => this.say({ event_type: "com.example/typing", scope: other, who: FORGED })],
      [2, () => this.say({ ...this.message(id), principal: random.pick(["desk", `owner-${other}`, "nobody"]) })],
      [1, () => this.say({ event_type: "user_event", id, type: "message", scope: `${this.tenant}x`, text: FORGED })],
      [
        1,
        () =>
          this.say({
            event_type: "user_event",
            id,
            type: "message",
            scope: `${this.tenant}/../${other}`,
            text: FORGED,
          }),
      ],
      [
        3,
        () =>
          question &&
          this.say({ event_type: "input_reply", id, in_reply_to: question.id, outcome: "accepted", value: "yes" }),
      ],
      [
        2,
        () =>
          call &&
          this.say({
            event_type: "bb_tool_call_result",
            call_id: call.id,
            success: true,
            content: [{ type: "text", text: FORGED }],
          }),
      ],
      [
        1,
        () =>
          request &&
          this.say({
            event_type: "infer_chunk",
            in_reply_to: request.id,
            kind: "block_delta",
            index: 0,
            block_type: "text",
            delta: FORGED,
          }),
      ],
      [1, () => this.say({ event_type: "scope_state", scope: this.scope(), state: "idle" })],
      [2, () => this.say({ event_type: random.pick(["bb_delete", "bb_rename"]), id, scope: foreign, title: FORGED })],
      [1, () => this.say({ event_type: "bb_fork", id, scope: `${this.tenant}/d0`, at: 1, to: `${other}/f` })],
      [1, () => this.say({ event_type: "bb_policy", id, rules: [] })],
      [
        1,
        () =>
          this.say({
            event_type: "bb_tool_call_request",
            id,
            scope: this.scope(),
            name: "write",
            input: { path: FORGED },
          }),
      ],
    ])();
  }
}

/** A page that is loaded again and again: it joins at every moment there is, and never stays. */
export class ReloadActor extends UiActor {
  protected override move(): void {
    // It only looks.
  }

  protected override joined(): void {
    if (!this.stage.quiet) this.later(this.random.between(1, 100), () => !this.stage.quiet && this.die("reloaded"));
  }
}

/** It sends in a conversation of its own, only after it has seen idle, and must never be refused (TRN-9). */
export class PoliteActor extends UiActor {
  private state: "joining" | "idle" | "running" = "joining";
  /** Sent and not yet answered: an idle seen meanwhile is older than it. */
  private waiting: string | undefined;

  protected override joined(): void {
    this.state = "joining";
    this.waiting = undefined;
  }

  protected override move(): void {
    this.maybeDie();
  }

  protected override repeat(): void {
    // Sent again, it might be refused by right: it has not seen idle since.
  }

  protected override hear(event: Event): void {
    super.hear(event);
    const scope = this.scopes[0]!;
    if (event.event_type === "bb_live" && this.state === "joining") this.state = "idle";
    if (event.event_type === "scope_state" && event["scope"] === scope) {
      this.state = event["state"] === "idle" ? "idle" : "running";
    }
    if (event["in_reply_to"] === this.waiting) {
      this.waiting = undefined;
      if (event["fate"] === "refused") this.stage.fail(`${scope} was idle, and refused (TRN-9)`);
      if (event["fate"] === "started") this.state = "running";
    }
    if (this.state !== "idle" || this.waiting !== undefined || this.stage.quiet) return;
    if (this.random.chance(0.5)) this.waiting = String(this.send("refuse", scope)["id"]);
    else this.pause(scope);
  }

  private pause(scope: string): void {
    this.later(this.random.below(1500), () => {
      if (this.state === "idle" && this.waiting === undefined && !this.stage.quiet) {
        this.waiting = String(this.send("refuse", scope)["id"]);
      }
    });
  }
}
