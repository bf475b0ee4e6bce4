import type { Event } from "../../../src/wire/index.ts";
import { Actor } from "./actor.ts";

type Render = Event & { id: string; scope: string; tools: { name: string }[]; history: unknown[] };

/** A context: mostly it renders; now and then it is late, fails, dies, asks the person first, or answers nonsense. */
export class ContextActor extends Actor {
  protected hear(event: Event): void {
    if (event.event_type === "bb_context_render_request") this.render(event as Render);
  }

  private render(request: Render): void {
    const { random } = this;
    const answer = (fields: Record<string, unknown> = {}): Event => ({
      event_type: "bb_context_render_result",
      in_reply_to: request.id,
      success: true,
      system: `You serve ${this.stage.canary(request.scope)}.`,
      ...fields,
    });
    if (this.stage.calm) return this.say(answer());
    if (this.maybeDie()) return;
    const soon = random.below(30);
    random.weighted([
      [60, () => this.later(soon, () => this.say(answer()))],
      [10, () => this.later(soon, () => this.say(answer({ messages: request.history })))],
      [10, () => this.later(soon, () => this.say(answer({ tools: this.some(request) })))],
      [8, () => this.later(soon, () => this.say(answer({ infer: random.pick(["brain", "spare"]) })))],
      [3, () => this.later(soon, () => this.say(answer({ infer: "nobody" })))],
      [3, () => this.later(soon, () => this.say(answer({ tools: ["no-such-tool"] })))],
      [3, () => this.later(soon, () => this.say(answer({ success: false })))],
      [3, () => this.later(soon, () => this.say(answer({ scope: "elsewhere" })))],
      [3, () => this.later(random.between(1500, 2500), () => this.say(answer()))],
      [2, () => undefined],
      [5, () => this.later(soon, () => [this.say(answer()), this.say(answer())])],
      [5, () => this.ask(request, () => this.say(answer()))],
    ])();
  }

  private some(request: Render): string[] {
    return request.tools.map(({ name }) => name).filter(() => this.random.chance(0.7));
  }

  private ask({ scope }: Render, then: () => void): void {
    const prompt = `Which one, ${this.stage.canary(scope)}?`;
    this.say({ event_type: "bb_input_request", id: this.newId(), scope, prompt, options: ["yes", "no"] });
    this.later(this.random.between(50, 1500), then);
  }
}
