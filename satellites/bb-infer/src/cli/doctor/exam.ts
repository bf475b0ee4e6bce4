import { randomUUID } from "node:crypto";
import { BytebotError, type InferEnd, type InferRequestEvent, type Message } from "bytebot/sdk";
import type { Provider } from "../../provider.ts";
import { Answer } from "./answer.ts";
import { asText, readCalls, toDialect } from "./as-text.ts";

/** What a request may take where `opts.params` does not say it; a model that thinks needs some of it for that. */
const MAX_TOKENS = 512;
const GRACE_MS = 3_000;

export type Asked = Pick<InferRequestEvent, "messages"> &
  Partial<Pick<InferRequestEvent, "system" | "tools" | "tool_choice" | "params">>;

export interface Asking {
  /** Stops the request. */
  signal?: AbortSignal | undefined;
  /** Called at each delta. */
  onDelta?: (() => void) | undefined;
}

export interface Subject {
  provider: Provider;
  /** Where its requests go, where that is known; absent for a model in this process. */
  baseUrl: string | undefined;
  /** Why it is this model. */
  why: string;
  /** What the satellite announces of it. */
  capabilities: Record<string, unknown>;
  /** The params of `opts`. */
  params: Record<string, unknown>;
  /** The variable that holds its key, and the key's length; undefined where none is sent. */
  key: { name: string; length: number } | undefined;
  /** The same model, with other values of these variables. */
  reopen: (env: NodeJS.ProcessEnv) => Promise<Provider>;
}

export interface ExamOptions {
  /** What an answer may take, in milliseconds. */
  timeoutMs: number;
  /** What a request may go on after it was stopped, in milliseconds: 3,000. */
  graceMs?: number | undefined;
  signal: AbortSignal;
}

/** One look at one model: what was asked of it and answered so far. One request at a time. */
export class Exam {
  readonly subject: Subject;
  readonly capabilities: Record<string, unknown>;
  private readonly timeoutMs: number;
  private readonly graceMs: number;
  /** Every whole answer, with the check that asked for it. */
  readonly answers: { check: string; answer: Answer }[] = [];
  /** The first request of all, however it ended: several checks look at it. */
  first: Promise<Answer> | undefined;
  /** The check that runs. */
  check = "";
  /** A conversation in which it called a tool: what was asked, and its whole answer. */
  called: Message[] | undefined;
  private readonly signal: AbortSignal;

  constructor(subject: Subject, { timeoutMs, graceMs = GRACE_MS, signal }: ExamOptions) {
    this.subject = subject;
    this.capabilities = subject.capabilities;
    this.timeoutMs = timeoutMs;
    this.graceMs = graceMs;
    this.signal = signal;
  }

  announces(name: string): boolean {
    const value = Object.hasOwn(this.capabilities, name) ? this.capabilities[name] : undefined;
    return value !== undefined && value !== null && value !== false;
  }

  /** Does one of the announced media types stand for this one? */
  announcesMedia(type: string): boolean {
    const media = this.capabilities["media"];
    const [kind] = type.split("/");
    return Array.isArray(media) && media.some((one) => one === type || one === `${kind}/*` || one === "*/*");
  }

  /** Asks as the Hub does: tools natively, or as text of the announced dialect. Rejects with BytebotError. */
  async ask(asked: Asked, asking: Asking = {}, provider = this.subject.provider): Promise<Answer> {
    const dialect = toDialect(this.capabilities["tools"]);
    const written = dialect ? asText(dialect, asked) : asked;
    const limits = this.subject.params["max_tokens"] === undefined ? { max_tokens: MAX_TOKENS } : {};
    const request: InferRequestEvent = {
      event_type: "bb_infer_request",
      id: `doctor-${randomUUID()}`,
      loop_id: `doctor-${randomUUID()}`,
      scope: "doctor",
      stream: true,
      round: 0,
      attempt: 0,
      ...written,
      params: { ...limits, ...asked.params },
    };
    const answer = new Answer(asking.onDelta ?? (() => undefined));
    answer.ended(await this.inTime((signal) => this.infer(provider, request, answer, signal), asking.signal));
    if (dialect) readCalls(dialect, asked.tools ?? [], answer);
    this.answers.push({ check: this.check, answer });
    return answer;
  }

  private infer(
    provider: Provider,
    request: InferRequestEvent,
    answer: Answer,
    signal: AbortSignal,
  ): Promise<InferEnd> {
    return provider.infer(request, answer, { signal, drained: () => Promise.resolve() });
  }

  /** The outcome, unless it takes too long: what was told to stop is waited for only a little. */
  private async inTime<Result>(
    begin: (signal: AbortSignal) => Promise<Result>,
    stop: AbortSignal | undefined,
  ): Promise<Result> {
    const late = AbortSignal.timeout(this.timeoutMs);
    const signal = AbortSignal.any([this.signal, late, ...(stop ? [stop] : [])]);
    const hung = Promise.withResolvers<never>();
    let timer: NodeJS.Timeout | undefined;
    let deaf = false;
    const stopped = () => {
      const message = `the request did not end within ${this.graceMs / 1000} s of being stopped`;
      timer = setTimeout(() => {
        deaf = true;
        hung.reject(new BytebotError("timeout", message));
      }, this.graceMs);
    };
    signal.addEventListener("abort", stopped, { once: true });
    try {
      this.signal.throwIfAborted();
      return await Promise.race([begin(signal), hung.promise]);
    } catch (error) {
      if (deaf || !late.aborted || this.signal.aborted) throw error;
      throw new BytebotError("timeout", `no answer within ${this.timeoutMs / 1000} s: --timeout gives it longer`);
    } finally {
      signal.removeEventListener("abort", stopped);
      clearTimeout(timer);
    }
  }
}
