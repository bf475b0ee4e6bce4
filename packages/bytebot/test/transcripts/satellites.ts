/** What the casts are made of: each a `main`, on the SDK alone. */
import * as bb from "../../src/sdk/index.ts";
import type { Role } from "./script.ts";

export const SCOPE = "u_7f3a";

type Render = (count: number, context: bb.Context) => bb.RenderReply | Promise<bb.RenderReply>;

/** A context that renders what the Hub has; or its nth answer is what the function says that `make` returns, once a run. */
export function context(make: () => Render = () => () => ({}), capabilities?: object): Role {
  return {
    name: "context",
    kind: "context",
    main: async ({ signal }) => {
      const satellite = await bb.sync({ kind: "context", controller: true, capabilities, signal });
      const render = make();
      let count = 0;
      satellite.onRender((_request: bb.ContextRenderRequestEvent, context) => render(count++, context));
      await satellite.start();
    },
  };
}

export type Answer = (
  request: bb.InferRequestEvent,
  reply: bb.InferReply,
  more: bb.Context & { satellite: bb.Satellite },
) => bb.InferEnd | Promise<bb.InferEnd>;

/** An infer that gives these answers, one a request. */
export function infer(...answers: Answer[]): Role {
  return inferWith({ api_shape: "anthropic" }, ...answers);
}

/** The same with other capabilities; its answers are canonical all the same. */
export function inferWith(capabilities: object, ...answers: Answer[]): Role {
  return {
    name: "infer",
    kind: "infer",
    main: async ({ signal }) => {
      const satellite = await bb.sync({ kind: "infer", controller: false, capabilities, signal });
      let count = 0;
      satellite.onInfer(async (request: bb.InferRequestEvent, reply, context) => {
        const answer = answers[count++];
        if (!answer) throw new bb.BytebotError("internal", `this script has ${answers.length} answers`);
        return answer(request, reply, { ...context, satellite });
      });
      await satellite.start();
    },
  };
}

/** Says this, delta by delta, and ends the turn. */
export function says(...deltas: string[]): Answer {
  return (_request, reply) => {
    for (const delta of deltas) reply.text(delta);
    return { stop_reason: "end_turn", usage: { input_tokens: 20, output_tokens: 2 } };
  };
}

/** Asks for these calls, in this order: each a tool's name and its arguments, as JSON where it is text. */
export function calls(...uses: [name: string, input: object | string][]): Answer {
  return (_request, reply) => {
    for (const [name, input] of uses) {
      const call = reply.toolUse({ name });
      call.delta(typeof input === "string" ? input : JSON.stringify(input));
      call.end();
    }
    return { stop_reason: "tool_use" };
  };
}

/** Says this, and no more until it is told to stop. */
export function saysUntilStopped(delta: string): Answer {
  return async (_request, reply, { signal }) => {
    reply.text(delta);
    await aborted(signal);
    throw new bb.BytebotError("cancelled", "stopped");
  };
}

/** A toolsource; `make` gets its satellite, for what a tool asks of the Hub. */
export function toolsource(make: (satellite: bb.Satellite) => bb.Tool[]): Role {
  return {
    name: "files",
    kind: "toolsource",
    main: async ({ signal }) => {
      const satellite = await bb.sync({ kind: "toolsource", signal });
      for (const tool of make(satellite)) satellite.tool(tool);
      await satellite.start();
    },
  };
}

/** A person at a UI who does what `play` says, then leaves. */
export function ui(play: (person: Person) => Promise<void>, { name = "ui", ...more }: UiOptions = {}): Role {
  return {
    name,
    kind: "ui",
    main: async ({ opts, signal }) => {
      const resume = opts["cursor"] as string | undefined;
      const satellite = await bb.sync({ kind: "ui", inputCapable: true, primary: true, resume, ...more, signal });
      const person = new Person(satellite);
      void satellite.start();
      await play(person);
    },
  };
}

type UiOptions = Partial<Omit<bb.SyncOptions, "kind">>;

/** Resolves when the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** What a person sees and does. Every wait ends with the connection, and the app ends that. */
export class Person {
  readonly satellite: bb.Satellite;
  /** All that it was shown. */
  readonly came: bb.Event[] = [];
  private next = 0;
  private wake: PromiseWithResolvers<void> | undefined;

  constructor(satellite: bb.Satellite) {
    this.satellite = satellite;
    satellite.on("*", (event) => {
      this.came.push(event as bb.Event);
      this.wake?.resolve();
    });
    satellite.signal.addEventListener("abort", () => this.wake?.reject(satellite.signal.reason), { once: true });
  }

  /** Resolves when it is durable. */
  say(text: string, options: bb.SendOptions = {}): Promise<bb.AckEvent> {
    return this.satellite.sendUserEvent(SCOPE, text, options);
  }

  /** The next event of this type, with these fields, behind the last one that was waited for. */
  async sees<Type extends string>(type: Type, fields: Record<string, unknown> = {}): Promise<bb.EventOf<Type>> {
    for (;;) {
      while (this.next < this.came.length) {
        const event = this.came[this.next++]!;
        const fits = Object.entries(fields).every(([field, value]) => event[field] === value);
        if (event.event_type === type && fits) return event as bb.EventOf<Type>;
      }
      this.satellite.signal.throwIfAborted();
      this.wake = Promise.withResolvers();
      await this.wake.promise;
    }
  }

  /** The turn is over, and no other waits. */
  async isDone(): Promise<void> {
    await this.sees("scope_state", { state: "idle", scope: SCOPE });
  }
}
