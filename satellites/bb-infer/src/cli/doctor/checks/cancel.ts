import { setTimeout as wait } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import { Connections } from "../connections.ts";
import type { Exam } from "../exam.ts";
import { user } from "../messages.ts";

/** Within this time of a cancel nothing of the request is left, in milliseconds. */
const CANCEL_MS = 1_000;
const AGAIN_MS = 100;

export const cancelChecks: Check[] = [
  {
    name: "cancel",
    title: "A cancelled request ends within a second, and the next one is served",
    run: async (exam) => {
      using connections = new Connections(exam.subject.baseUrl);
      const ms = await cancelled(exam);
      if (ms > CANCEL_MS) throw new Unmet(`an end within ${CANCEL_MS} ms`, `one after ${Math.round(ms)} ms`);
      const open = await connections.open(CANCEL_MS - ms);
      if (open > 0) throw new Unmet("a closed connection", `${open} still open after ${CANCEL_MS} ms`);
      await served(exam, performance.now() + CANCEL_MS - ms);
      const how = connections.seen > 0 ? ", its connection closed" : "";
      return `after ${Math.round(ms)} ms${how}`;
    },
  },
];

/** The next request is answered: refused for the moment it may be only for the rest of the second. */
async function served(exam: Exam, until: number): Promise<void> {
  for (;;) {
    try {
      await exam.ask({ messages: [user("Say hello.")] });
      return;
    } catch (error) {
      if (!(error instanceof BytebotError) || error.code === "cancelled") throw error;
      if (!error.retryable || performance.now() >= until) {
        const fix = "the server goes on with what nobody waits for: have it stop when its client leaves";
        throw new Unmet("an answer to the next request", `${error.code}: ${error.message}`, fix);
      }
      await wait(AGAIN_MS);
    }
  }
}

/** Milliseconds from the cancel, at the first piece of an answer, to the request's end. */
async function cancelled(exam: Exam): Promise<number> {
  const stop = new AbortController();
  let stoppedAt = 0;
  const onDelta = () => {
    if (stop.signal.aborted) return;
    stoppedAt = performance.now();
    stop.abort(new BytebotError("cancelled", "cancelled by bb-infer doctor"));
  };
  const messages = [user("Tell me everything about the sea, in as many words as you can.")];
  try {
    await exam.ask({ messages, params: { max_tokens: 2_000 } }, { signal: stop.signal, onDelta });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    const ms = performance.now() - stoppedAt;
    if (error instanceof BytebotError && error.code === "cancelled") return ms;
    const got = error instanceof BytebotError ? `${error.code}: ${error.message}` : String(error);
    throw new Unmet("code cancelled", got);
  }
  throw new Inapplicable("the answer was over before it could be cancelled");
}
