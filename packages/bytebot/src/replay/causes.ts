import { instanceOf } from "../check/instance.ts";
import { as, MAX_PATTERN, type Event, type PolicyRule } from "../wire/index.ts";
import { textOf } from "../hub/index.ts";
import type { Names } from "./difference.ts";
import { placeOf } from "./logged.ts";
import type { Call, Plan } from "./plan.ts";
import type { Recorded } from "./recording.ts";
import { goneOf } from "./said.ts";
import type { Stage } from "./stage.ts";

/** The Hub's own of an event, or its answer's place: what nobody sends. */
const STAMPED = "seq cursor ts from scope loop_id round attempt n interrupted will_retry request_id".split(" ");

/** Does what made a recorded event happen, where that was not the Hub itself. */
export class Causes {
  private readonly stage: Stage;
  private readonly plan: Plan;
  private readonly names: Names;
  private readonly answers: ReadonlyMap<string, unknown>;
  private removed: ReadonlySet<string> = new Set();
  private policy = "";
  private readonly questions = new Map<string, Event>();
  /** The replay's request of each answer. */
  private readonly requests = new Map<string, { id: string; infer: string }>();

  constructor(stage: Stage, plan: Plan, names: Names, answers: ReadonlyMap<string, unknown>) {
    this.stage = stage;
    this.plan = plan;
    this.names = names;
    this.answers = answers;
  }

  /** It has happened. */
  happened({ event }: Recorded): void {
    if (event.event_type === "input_strict") this.questions.set(String(event["id"]), event);
    if (event.event_type === "input_resolved") this.questions.delete(String(event["id"]));
    if (event.event_type === "bb_infer_request") this.stream(event);
    if (event.event_type === "bb_infer_result") this.requests.delete(placeOf(event));
  }

  async cause(recorded: Recorded): Promise<void> {
    const { event } = recorded;
    await this.restore();
    switch (event.event_type) {
      case "user_event":
        return this.input(event);
      case "interrupt":
        return this.person(event);
      case "conversation_title":
        return this.decided("bb_rename", event, { title: event["title"] });
      case "conversation_deleted":
        return this.decided("bb_delete", event);
      case "bb_infer_request":
        return this.render(event);
      case "infer_chunk":
        return event["kind"] === "loop_done" ? this.failRender(event) : this.block(event);
      case "bb_infer_result":
        return this.result(event);
      case "bb_tool_call_request":
      case "tool_call":
        return event["loop_id"] === undefined ? this.askForCall(event) : undefined;
      case "bb_tool_call_result":
        return this.callResult(event);
      case "input_strict":
        return this.ask(event);
      case "input_resolved":
        return this.answer(event);
    }
  }

  /** What a person sent; or a turn that a tool in its call, or the app, asked for. */
  private input(event: Event): void {
    const { scope, content, request_id, call_id } = event;
    if (request_id === undefined) return this.person(event);
    const person = pick(event, ["principal"]);
    const asked = { event_type: "bb_turn_request", id: this.stage.newId("t"), scope, content, ...person };
    const call = this.plan.calls.get(String(call_id));
    if (call) this.stage.asTool(call.modelName, { ...asked, call_id: this.names.of(call.id) });
    else this.stage.asPerson(asked);
  }

  /** What a person decided about a conversation. */
  private decided(event_type: string, { scope }: Event, fields: object = {}): void {
    this.stage.asPerson({ event_type, id: this.stage.newId("d"), scope, ...fields });
  }

  /** Under a name of the replay's own: the recorded one may have been used by two. */
  private person({ id, ...event }: Event): void {
    const { seq: _, cursor: __, ts: ___, from: ____, ...own } = event;
    this.stage.asPerson({ ...own, ...(id === undefined ? {} : { id: this.stage.newId("m") }) } as Event);
  }

  /** The context's answer: what it chose shows in the request, and in the tools that the answer could not call. */
  private async render(event: Event): Promise<void> {
    const infer = this.plan.infers.of(event["id"]);
    await this.stage.haveInfer(infer);
    const missing = this.plan.missing(placeOf(event), "not_offered");
    const { tools } = this.plan;
    const offered = tools.map(({ modelName }) => modelName).filter((name) => !missing.has(name));
    const named = this.plan.infers.isNamed(event["id"]) ? { infer } : {};
    const chosen = { ...named, ...pick(event, ["model"]), ...(missing.size > 0 ? { tools: offered } : {}) };
    this.rendered(event, { success: true, messages: SAID, ...chosen });
  }

  private failRender(event: Event): void {
    if (event["error"] !== undefined) this.rendered(event, { success: false, error: event["error"] });
  }

  private rendered({ scope }: Event, answer: object): void {
    const in_reply_to = this.stage.renders.get(String(scope));
    if (in_reply_to === undefined) return;
    this.stage.renders.delete(String(scope));
    this.stage.asContext({ event_type: "bb_context_render_result", in_reply_to, ...answer });
  }

  /** What was on its way when the answer was cut short: the Hub keeps of it what was seen. */
  private stream(event: Event): void {
    const in_reply_to = this.names.of(event["id"])!;
    const infer = this.plan.infers.of(event["id"]);
    this.requests.set(placeOf(event), { id: in_reply_to, infer });
    for (const { index, block } of this.plan.partial.get(placeOf(event)) ?? []) {
      const delta = (block as { text?: unknown }).text;
      const chunk = { event_type: "infer_chunk", in_reply_to, index, block_type: "text" };
      this.stage.asInfer(infer, { ...chunk, kind: "block_delta", delta });
    }
  }

  private block(event: Event): void {
    const request = this.requests.get(placeOf(event));
    if (!request) return;
    const { id: in_reply_to, infer } = request;
    this.stage.asInfer(infer, {
      ...unstamped(event),
      in_reply_to,
      block: sent(event["block"] as Record<string, unknown>),
    });
  }

  private async result(event: Event): Promise<void> {
    const place = placeOf(event);
    const gone = goneOf(event);
    if (gone) return this.stage.loseInfer(gone.name, gone.reason);
    if (event["synthetic"] === true) return;
    await this.decide(this.plan.rounds.get(place) ?? []);
    this.remove(this.plan.missing(place, "removed"));
    this.stage.asInfer(this.plan.infers.of(event["in_reply_to"]), {
      ...unstamped(event),
      in_reply_to: this.names.of(event["in_reply_to"]),
    });
  }

  private remove(tools: ReadonlySet<string>): void {
    this.removed = tools;
    this.stage.register(tools, false);
  }

  /** Whoever was away for the last event is back. */
  private async restore(): Promise<void> {
    this.stage.register(this.removed, true);
    this.removed = new Set();
    await this.stage.haveTools();
    await this.stage.haveListener(true);
  }

  /** The policy of these calls, and whether there is somebody to ask, from what became of them. */
  private async decide(calls: readonly Call[]): Promise<void> {
    if (calls.some(({ question }) => this.plan.isUnheard(question))) await this.stage.haveListener(false);
    const rules = rulesFor(calls);
    const policy = JSON.stringify(rules);
    if (policy === this.policy || calls.length === 0) return;
    this.policy = policy;
    this.stage.asPerson({ event_type: "bb_policy", id: this.stage.newId("y"), rules });
  }

  /** The app asked for a call. */
  private async askForCall(event: Event): Promise<void> {
    const { call_id, scope } = event;
    const call = this.plan.calls.get(String(call_id));
    if (!call) return;
    await this.decide([call]);
    const { name, input } = call;
    const asked = { event_type: "bb_tool_call_request", id: this.stage.newId("x"), scope, name, input };
    this.stage.asPerson({ ...asked, ...pick(event, ["principal"]) });
  }

  private async callResult(event: Event): Promise<void> {
    const call = this.plan.calls.get(String(event["call_id"]));
    if (!call) return;
    if (event["status"] === "lost") return this.stage.loseTool(call.modelName);
    if (event["synthetic"] === true) return;
    const { name: _, status: __, ...said } = unstamped(event);
    this.stage.asTool(call.modelName, { ...said, event_type: "bb_tool_call_result", call_id: this.names.of(call.id) });
  }

  private async ask(event: Event): Promise<void> {
    const call = this.plan.calls.get(String(event["call_id"]));
    if (event["approval"] !== undefined) {
      if (call && this.names.of(call.id) === undefined) await this.askForCall(event);
      return;
    }
    if (this.plan.isUnheard(event["id"])) await this.stage.haveListener(false);
    const { id: _, call_id: __, ...asked } = unstamped(event);
    const request = { ...asked, event_type: "bb_input_request", id: this.stage.newId("k") };
    if (call) this.stage.asTool(call.modelName, { ...request, call_id: this.names.of(call.id) });
    else this.stage.asContext({ ...request, scope: event["scope"] });
  }

  private async answer(event: Event): Promise<void> {
    const { id, outcome, choice } = event;
    const question = this.questions.get(String(id));
    const call = this.plan.calls.get(String(question?.["call_id"]));
    // It ends with its call, and is resolved before that is said.
    if (outcome === "cancelled" && call?.result) return this.callResult(call.result.event);
    if (outcome === "cancelled" && question && !call) return this.stage.loseContext();
    if (!question || (outcome !== "accepted" && outcome !== "declined")) return;
    const in_reply_to = this.names.of(id);
    if (call && question["approval"] && this.plan.isGone(call)) this.remove(new Set([call.modelName]));
    const value = outcome === "accepted" ? { value: choice ?? this.valueFor(question, call) } : {};
    const said = { ...value, ...pick(event, ["principal", "expires_at"]) };
    this.stage.asListener({ event_type: "input_reply", id: this.stage.newId("a"), in_reply_to, outcome, ...said });
  }

  /** What a person answered is in the log only by what came of it: one of the answers that the question takes. */
  private valueFor(question: Event, call: Call | undefined): unknown {
    const { id, options, schema, approval } = as("input_strict", question);
    if (approval) return call?.result?.event["status"] === "denied" ? "deny" : "once";
    if (this.answers.has(id)) return this.answers.get(id);
    return options?.[0] ?? (schema ? instanceOf(schema) : "yes");
  }
}

/** A policy that decides of these calls what was decided of them: by arguments where one tool was called both ways. */
function rulesFor(calls: readonly Call[]): PolicyRule[] {
  const rules = calls.map(({ modelName, decision, asks, input }): PolicyRule => {
    const same = calls.every((other) => other.modelName !== modelName || other.decision === decision);
    const text = same ? undefined : textOf(input)?.slice(0, MAX_PATTERN);
    return {
      ...{ tool: modelName, decision },
      ...(decision === "ask" ? asks : {}),
      ...(text === undefined ? {} : { input: { "": text.length < MAX_PATTERN ? text : `${text.slice(0, -1)}*` } }),
    };
  });
  const stricter = rules.filter(({ decision, input }) => decision !== "allow" || input);
  return [{ tool: "*", decision: "allow" }, ...stricter];
}

/** What the model was shown is not in the log, and nobody reads it here. */
const SAID = [{ role: "user", content: [{ type: "text", text: "(what the recorded context said)" }] }];

function unstamped(event: Event): Event {
  return Object.fromEntries(Object.entries(event).filter(([field]) => !STAMPED.includes(field))) as Event;
}

/** The block as its infer sent it: the Hub wrote the call's id and the thinking's origin. */
function sent(block: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const { id: _, alias, origin: __, ...own } = block ?? {};
  if (block?.["type"] === "thinking") return own;
  if (block?.["type"] !== "tool_use") return block;
  return { ...own, ...(alias === undefined ? {} : { id: alias }) };
}

function pick(event: Event, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.flatMap((field) => (event[field] === undefined ? [] : [[field, event[field]]])));
}
