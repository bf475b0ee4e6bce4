import type { Event } from "../../../src/wire/index.ts";
import type { Stage } from "../stage.ts";
import { UiActor } from "./ui.ts";

/** The controller: it may touch every scope, sets policy, asks for turns and calls, detaches a component. */
export class DeskActor extends UiActor {
  constructor(stage: Stage, scopes: readonly string[]) {
    super(stage, "desk", "*", scopes, ["nobody"], {
      ...{ scopes: ["*"], controller: true, inputCapable: false },
      principal: "desk",
    });
  }

  protected override move(): void {
    const { random } = this;
    const id = this.newId();
    const scope = random.pick(this.scopes);
    random.weighted<() => void>([
      [6, () => this.say({ event_type: "bb_policy", id, rules: [this.rule()] })],
      [6, () => this.say({ event_type: "bb_policy", id, rules: [] })],
      [6, () => this.twice({ event_type: "bb_turn_request", id, scope, content: this.stage.text(scope) })],
      [6, () => this.twice(this.call(id, scope))],
      [2, () => this.say({ event_type: "bb_components", id })],
      [
        2,
        () =>
          this.say({ event_type: "bb_detach", id, component_id: random.pick(["files", "web", "spare", "nothing"]) }),
      ],
      [3, () => this.say({ event_type: "interrupt", id, scope })],
      [1, () => this.die("the desk was closed")],
      [this.stage.settings.hard ? 15 : 0, () => this.stopped(id, scope)],
    ])();
  }

  private rule(): Record<string, unknown> {
    const { random } = this;
    const of = random.pick([{}, {}, { component: "files" }, { input: { "/path": "*/1" } }, { scope: "ta" }]);
    const tool = random.pick(["*", "write", "files/*"]);
    const asked = {
      ...random.pick([{}, { approvers: ["owner-*"] }]),
      ...random.pick([{}, { remember_ms: random.pick([2000, 3_600_000]) }]),
    };
    const decision = random.pick(["allow", "ask", "ask", "ask", "deny"]);
    return { tool, ...of, decision, ...(decision === "ask" ? asked : {}) };
  }

  /** A call that it stops again. */
  private stopped(id: string, scope: string): void {
    this.say({ ...this.call(id, scope), name: this.random.pick(["files/read", "fetch", "write"]) });
    this.later(this.random.below(300), () => this.say({ event_type: "interrupt", id: this.newId(), scope }));
  }

  private call(id: string, scope: string): Event {
    const name = this.random.pick(["write", "files/read", "drop", "fetch", "no-such-tool"]);
    return { event_type: "bb_tool_call_request", id, scope, name, input: { path: this.stage.canary(scope) } };
  }

  private twice(event: Event): void {
    this.say(event);
    if (this.random.chance(0.2)) this.say(event);
  }

  protected override hear(): void {
    // It watches.
  }
}
