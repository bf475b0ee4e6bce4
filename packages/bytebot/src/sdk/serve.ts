import {
  BytebotError,
  type CallStatus,
  type ContextRenderRequest,
  type Event,
  type InferRequest,
  type OpenaiInferRequest,
  type OpenaiRenderRequest,
} from "../wire/index.ts";
import type { Work } from "./answers.ts";
import { Reply, type ChunkSink, type InferEnd } from "./reply.ts";
import type { Infer, OpenaiRenderReply, Render, RenderReply } from "./satellite.ts";

/** A handler of either shape: which one it is for, its author and what the satellite announced say. */
export type AnyRender = Render<ContextRenderRequest | OpenaiRenderRequest, RenderReply | OpenaiRenderReply>;
export type AnyInfer = Infer<InferRequest | OpenaiInferRequest>;

const MAX_MESSAGE = 8000;

/** What names a request of the Hub's to its satellite; undefined for every other event. */
export function requestKey(event: Event): string | undefined {
  if (!servedBy.has(event.event_type)) return undefined;
  const key = event[event.event_type === "bb_tool_call_request" ? "call_id" : "id"];
  return typeof key === "string" ? key : undefined;
}

const servedBy = new Map<string, (event: Event) => string>([
  ["bb_context_render_request", () => "register satellite.onRender(…)"],
  ["bb_infer_request", () => "register satellite.onInfer(…)"],
  ["bb_tool_call_request", ({ name }) => `add the tool ${JSON.stringify(name)} with satellite.tool(defineTool(…))`],
]);

/** The answer to a request that failed. */
export function failedAnswer(request: Event, error: BytebotError): Event {
  const wire = { ...error.toWire(), message: error.message.slice(0, MAX_MESSAGE) };
  const failed = { success: false, error: wire };
  const { id, loop_id } = request;
  if (request.event_type === "bb_context_render_request") {
    return { event_type: "bb_context_render_result", in_reply_to: id, ...failed };
  }
  if (request.event_type === "bb_infer_request") {
    return { event_type: "bb_infer_result", in_reply_to: id, loop_id, ...failed };
  }
  const status: CallStatus = error.code === "cancelled" || error.code === "timeout" ? error.code : "error";
  const content = [{ type: "text", text: wire.message }];
  return { event_type: "bb_tool_call_result", call_id: request["call_id"], status, content, ...failed };
}

export function renderWork(request: ContextRenderRequest | OpenaiRenderRequest, render: AnyRender): Work {
  const shape = request.api_shape === undefined ? {} : { api_shape: request.api_shape };
  return {
    key: request.id,
    run: async ({ signal }) => {
      const reply = await render(request, { signal });
      return { ...shape, ...reply, event_type: "bb_context_render_result", in_reply_to: request.id, success: true };
    },
    failed: (error) => failedAnswer(request, error),
  };
}

export function inferWork(request: InferRequest | OpenaiInferRequest, infer: AnyInfer, sink: ChunkSink): Work {
  const { id: in_reply_to, loop_id } = request;
  return {
    key: in_reply_to,
    run: async (stop) => {
      const reply = new Reply(in_reply_to, sink);
      stop.heard = () => reply.stop();
      const context = {
        get signal() {
          return stop.signal;
        },
      };
      try {
        const end = (await infer(request, reply, context)) as InferEnd | undefined;
        if (end?.stop_reason === undefined) throw new BytebotError("internal", "onInfer has to return { stop_reason }");
        const { stop_reason, usage } = end;
        // What was left unsaid after a cancel is missing: it cannot pass as a whole reply.
        if (stop.reason) return { ...failedAnswer(request, stop.reason), usage };
        reply.finish();
        return { event_type: "bb_infer_result", in_reply_to, loop_id, success: true, stop_reason, usage };
      } finally {
        reply.stop();
      }
    },
    failed: (error) => failedAnswer(request, error),
  };
}

/** A request served by plain handlers of its type, which send the answer themselves. */
export function handlerWork(request: Event, key: string, run: (signal: AbortSignal) => Promise<unknown>): Work {
  return {
    key,
    run: async ({ signal }) => {
      await run(signal);
      return undefined;
    },
    failed: (error) => failedAnswer(request, error),
  };
}

/** A request that nothing here serves: the Hub learns so at once, and the author how to mend it. */
export function missingWork(request: Event, key: string): Work {
  const fix = servedBy.get(request.event_type)?.(request) ?? "";
  return {
    key,
    run: () =>
      Promise.reject(new BytebotError("unavailable", `this component does not serve ${request.event_type}: ${fix}`)),
    failed: (error) => failedAnswer(request, error),
  };
}
