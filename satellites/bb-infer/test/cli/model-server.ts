import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fromChat, fromMessages, toChat, toMessages, type Asked, type Said } from "./voices.ts";

export const KEY = "the-right-key-0123";
export const SIGNATURE = "c2lnbmVkIGJ5IHRoZSBzZXJ2ZXI=";

/** What a server may do wrong: each one thing. */
export type Wrong =
  | "hangs_up"
  | "answers_never"
  | "refuses_key"
  | "has_no_model"
  | "fails"
  | "says_it_at_once"
  | "says_nothing"
  | "ignores_max_tokens"
  | "cuts_in_silence"
  | "counts_nothing"
  | "calls_nothing"
  | "calls_another"
  | "calls_with_wrong_arguments"
  | "calls_with_no_json"
  | "writes_hermes"
  | "writes_half_a_call"
  | "refuses_results"
  | "ignores_schema"
  | "refuses_images"
  | "goes_on"
  | "thinks_nothing"
  | "refuses_thinking"
  | "forgets"
  | "takes_any_key";

/** A hosted model, played: it streams, calls, thinks when it is asked to, sees, keeps to a schema and caches. */
export class ModelServer implements AsyncDisposable {
  readonly baseUrl: string;
  /** Inference requests so far. */
  asked = 0;
  /** Called at each. */
  onAsked: () => void = () => undefined;
  /** One request at a time. */
  private busy = false;
  private readonly cached = new Set<string>();
  private readonly wrong: Wrong | undefined;
  private readonly server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>, wrong: Wrong | undefined) {
    this.server = server;
    this.wrong = wrong;
    this.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  static async start(wrong?: Wrong): Promise<ModelServer> {
    const server = createServer((request, response) => void started.answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const started = new ModelServer(server, wrong);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += String(part);
    const isChat = request.url === "/v1/chat/completions";
    if (!isChat && request.url !== "/v1/messages") return refuse(response, 404, "not_found_error", "no such path");
    if (this.wrong === "hangs_up") return void response.destroy();
    this.asked++;
    this.onAsked();
    if (this.wrong === "answers_never") return;
    const body = JSON.parse(text) as Record<string, unknown>;
    const asked = isChat ? fromChat(body) : fromMessages(body);
    const key = isChat ? request.headers.authorization?.replace("Bearer ", "") : request.headers["x-api-key"];
    const refused = this.refusal(asked, String(key));
    if (refused) return refuse(response, ...refused);
    const write = (isChat ? toChat : toMessages)(response, this.wrong === "says_it_at_once");
    if (/sea/.test(asked.question)) return this.endless(response, write);
    write(this.reply(asked));
    response.end();
  }

  private refusal(asked: Asked, key: string): [status: number, type: string, message: string] | undefined {
    const { wrong } = this;
    if (wrong === "fails") return [400, "invalid_request_error", "temperature is not known here"];
    if (wrong === "refuses_key" || (key !== KEY && wrong !== "takes_any_key"))
      return [401, "authentication_error", "invalid key"];
    if (wrong === "has_no_model") return [404, "not_found_error", "no such model"];
    if (this.busy) return [503, "overloaded_error", "busy"];
    if (wrong === "refuses_results" && asked.hasResult) return [400, "invalid_request_error", "tool role"];
    if (wrong === "refuses_images" && asked.hasImage) return [400, "invalid_request_error", "no image input"];
    const altered = asked.signatures.some((signature) => signature !== SIGNATURE);
    if (altered || (wrong === "refuses_thinking" && asked.signatures.length > 0))
      return [400, "invalid_request_error", "invalid signature in thinking block"];
    return undefined;
  }

  private reply(asked: Asked): Said {
    const { wrong } = this;
    const { question, forced, hasSchema, hasImage, system, thinks } = asked;
    const cached = system !== "" && this.cached.has(system) && wrong !== "forgets";
    this.cached.add(system);
    const usage = wrong === "counts_nothing" ? undefined : { input: 20, output: 9, cached: cached ? 12 : 0 };
    const thinking = thinks && wrong !== "thinks_nothing" ? "Both together, less the difference." : undefined;
    const about = { usage, thinking, signature: SIGNATURE };
    // Of tools that are written into the system text, too.
    if (forced || /you have to call/.test(system)) return { ...about, ...this.call() };
    if (hasSchema && wrong !== "ignores_schema") return { ...about, pieces: ['{"answer":', '"yes","sure":true}'] };
    if (hasImage) return { ...about, pieces: ["Red", "."] };
    const counts = question.startsWith("Count");
    const all = counts ? Array.from({ length: 200 }, (_, n) => `${n + 1}, `) : ["Hel", "lo."];
    if (wrong === "says_nothing" && counts && asked.maxTokens > 400) return { ...about, pieces: [] };
    const room = wrong === "ignores_max_tokens" ? Infinity : Math.ceil(asked.maxTokens / 2);
    const cut = all.length > room;
    if (cut && usage) usage.output = asked.maxTokens;
    return { ...about, pieces: all.slice(0, room), stop: cut && wrong !== "cuts_in_silence" ? "length" : "stop" };
  }

  private call(): Partial<Said> & Pick<Said, "pieces"> {
    const room = { room: "kitchen", on: true };
    switch (this.wrong) {
      case "calls_nothing":
        return { pieces: ["The light", " is on."] };
      case "writes_hermes":
        return { pieces: ["<tool_call>\n", JSON.stringify({ name: "set_light", arguments: room }), "\n</tool_call>"] };
      case "writes_half_a_call":
        return { pieces: ["<tool_call>\n", '{"name":"set_light"'] };
      case "calls_another":
        return { pieces: [], call: { name: "open_door", json: ["{", "}"] } };
      case "calls_with_wrong_arguments":
        return { pieces: [], call: { name: "set_light", json: ['{"room":"kitchen",', '"on":"yes"}'] } };
      case "calls_with_no_json":
        return { pieces: [], call: { name: "set_light", json: ['{"room":', "kitchen}"] } };
      default:
        return { pieces: [], call: { name: "set_light", json: ['{"room":"kit', 'chen","on":true}'] } };
    }
  }

  /** It goes on until its client leaves; one that is wrong goes on with the work even then. */
  private endless(response: ServerResponse, write: (said: Said) => void): void {
    this.busy = true;
    write({ pieces: ["Once upon", " a time"], goesOn: true });
    response.on("close", () => (this.busy = this.wrong === "goes_on"));
  }
}

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ type: "error", error: { type, message } }));
}
