import type { Event } from "../../../src/wire/index.ts";
import { Actor } from "./actor.ts";
import { FORGED } from "./forged.ts";

type Request = Event & { id: string; scope: string; round: number; tools?: { name: string }[] };
/** After so many milliseconds this is said; "die": it is gone. */
type Step = readonly [afterMs: number, what: Event | "die"];

/** A model: text, thinking, calls, and everything that providers do wrong. */
export class InferActor extends Actor {
  private readonly stopped = new Set<string>();

  protected hear(event: Event): void {
    if (event.event_type === "bb_infer_request") this.play(event as Request, this.plan(event as Request));
    if (event.event_type === "bb_cancel") this.cancelled(String(event["target"]));
  }

  private play(request: Request, steps: readonly Step[]): void {
    let at = 0;
    for (const [wait, what] of steps) {
      at += wait;
      this.later(at, () => {
        if (this.stopped.has(request.id)) return;
        if (what === "die") this.die("it crashed in its answer");
        else this.say({ ...what, in_reply_to: request.id });
      });
    }
  }

  private cancelled(id: string): void {
    const error = { code: "cancelled", message: "stopped", retryable: false };
    const answer = { event_type: "bb_infer_result", in_reply_to: id, success: false, error };
    this.random.weighted<() => unknown>([
      [70, () => [this.stopped.add(id), this.later(this.random.below(200), () => this.say(answer))]],
      [this.stage.settings.hard ? 50 : 15, () => undefined],
      [15, () => this.stopped.add(id)],
    ])();
  }

  private plan(request: Request): Step[] {
    const { random, stage } = this;
    const text = this.block(request, 0, random.chance(0.2) ? "thinking" : "text");
    const ok = this.result("end_turn");
    if (stage.calm) return [...this.block(request, 0, "text"), [0, ok]];
    if (request.round >= 4) return [...text, [0, ok]];
    const crash = !stage.quiet && random.chance(stage.settings.crash);
    if (crash) return [...text.slice(0, random.below(text.length + 1)), [5, "die"]];
    const wait = random.below(20);
    return random.weighted<() => Step[]>([
      [30, () => [[wait, this.noise()], ...text, [wait, ok]]],
      [40, () => this.calls(request)],
      [5, () => [[wait, { ...ok, content: [{ type: "text", text: this.words(request) }] }]]],
      [4, () => [...text, [wait, this.result("max_tokens")]]],
      [3, () => [...text, [wait, this.result("refusal")]]],
      [2, () => [...text, [wait, this.result("interrupted")]]],
      [3, () => [[wait, ok]]],
      [4, () => [[wait, this.failure(true)]]],
      [5, () => [...text.slice(0, random.between(1, 4)), [wait, this.failure(true)]]],
      [2, () => [[wait, this.failure(true, random.pick([50, 1000, 10_000]))]]],
      [2, () => [...text, [wait, this.failure(false)]]],
      [2, () => []],
      [2, () => text.slice(0, random.below(text.length))],
      [3, () => [...text, [0, ok], [5, this.delta(0, "text", "too late")], [0, ok]]],
      [3, () => [...text, [0, { event_type: "infer_chunk", kind: "loop_done", stop_reason: "end_turn" }], [0, ok]]],
      [
        2,
        () => [
          [0, { ...this.delta(0, "text", this.words(request)), scope: "elsewhere" }],
          [wait, ok],
        ],
      ],
    ])();
  }

  private words({ scope }: Request): string {
    return `${this.stage.canary(scope)} says ${this.random.below(1000)}. `;
  }

  private block(request: Request, index: number, block_type: "text" | "thinking"): Step[] {
    const { random } = this;
    const deltas = Array.from({ length: random.between(1, 4) }, (): Step => [
      random.below(15),
      this.delta(index, block_type, this.words(request)),
    ]);
    const start = { event_type: "infer_chunk", kind: "block_start", index, block_type };
    const stop = { event_type: "infer_chunk", kind: "block_stop", index };
    return [
      ...(random.chance(0.8) ? [[random.below(30), start] as const] : []),
      ...deltas,
      ...(random.chance(0.8) ? [[0, stop] as const] : []),
    ];
  }

  private delta(index: number, block_type: string, delta: string): Event {
    return { event_type: "infer_chunk", kind: "block_delta", index, block_type, delta };
  }

  /** Some calls, side by side, after some text or none; their blocks may interleave. */
  private calls(request: Request): Step[] {
    const { random } = this;
    const offered = (request.tools ?? []).map(({ name }) => name);
    const steps: Step[] = random.chance(0.5) ? this.block(request, 0, "text") : [];
    const count = random.between(1, 3);
    for (let index = 1; index <= count; index++) {
      const name = offered.length === 0 || random.chance(0.05) ? "no-such-tool" : random.pick(offered);
      const input = random.weighted<() => string>([
        [80, () => JSON.stringify({ path: `${this.stage.canary(request.scope)}/${random.below(3)}` })],
        [5, () => ""],
        [5, () => JSON.stringify({ path: 7 })],
        [5, () => '{"path": "half'],
      ])();
      const cut = random.below(input.length + 1);
      const base = { event_type: "infer_chunk", index };
      steps.push([random.below(10), { ...base, kind: "block_start", block_type: "tool_use", name }]);
      for (const part of [input.slice(0, cut), input.slice(cut)]) {
        if (part !== "") steps.push([0, this.delta(index, "tool_use", part)]);
      }
      if (random.chance(0.8)) steps.push([0, { ...base, kind: "block_stop" }]);
    }
    const reason = random.weighted([
      [90, "tool_use"],
      [5, "end_turn"],
      [5, "max_tokens"],
    ]);
    steps.push([random.below(20), this.result(reason)]);
    return steps;
  }

  private result(stop_reason: string): Event {
    return { event_type: "bb_infer_result", success: true, stop_reason, usage: { input_tokens: 1 } };
  }

  private failure(retryable: boolean, retry_after_ms?: number): Event {
    const error = { code: "overloaded", message: "the provider answered 429", retryable };
    return {
      event_type: "bb_infer_result",
      success: false,
      error: retry_after_ms === undefined ? error : { ...error, retry_after_ms },
    };
  }

  /** Now and then it answers a request that went to another. */
  private noise(): Event {
    const { gossip } = this.stage;
    const stolen =
      this.random.chance(0.3) && gossip.steal(gossip.requests, this.random, ({ line }) => line.offer === this.offer);
    if (!stolen) return { event_type: "bb_ping" };
    this.say({ ...this.delta(0, "text", FORGED), in_reply_to: stolen.id });
    this.say({ ...this.result("end_turn"), in_reply_to: stolen.id, content: [{ type: "text", text: FORGED }] });
    return { event_type: "bb_pong" };
  }
}
