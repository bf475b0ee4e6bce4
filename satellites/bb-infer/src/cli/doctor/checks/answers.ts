import type { BytebotError, ErrorCode, Usage } from "bytebot/sdk";
import type { Answer } from "../answer.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import type { Exam } from "../exam.ts";
import { option, user } from "../messages.ts";

/** A speed is not told of what took less, in milliseconds. */
const SHORT_MS = 100;
/** The least `max_tokens` that every API takes. */
const FEW_TOKENS = 16;
/** Some hundred tokens: several pieces also of a server that sends large ones. */
const LONG_ANSWER = [user("Count from 1 to 200, with a comma after each number: 1, 2, 3, 4,")];

const counts = ["input_tokens", "output_tokens"] as const;

export const answerChecks: Check[] = [
  {
    name: "reach",
    title: "It can be reached",
    gate: true,
    run: async (exam) => {
      const error = await failure(exam);
      // Without one some providers send nothing.
      if (isOf(error, "unauthorized") && !exam.subject.key) throw new Inapplicable("no key is set");
      if (isOf(error, "unavailable", "timeout", "overloaded", "internal")) throw unmet("an answer", error);
      return undefined;
    },
  },
  {
    name: "key",
    title: "The key is taken",
    gate: true,
    run: async (exam) => {
      const { key } = exam.subject;
      const error = await failure(exam);
      if (isOf(error, "unauthorized", "forbidden", "budget_exceeded")) throw unmet("an answer for this key", error);
      if (!key) throw new Inapplicable("no key is used");
      return `from ${key.name}`;
    },
  },
  {
    name: "model",
    title: "The model exists, and answers",
    gate: true,
    run: async (exam) => {
      const error = await failure(exam);
      if (isOf(error, "not_found")) throw unmet("the model", error, "bb-infer models lists what there is");
      if (error) throw unmet("an answer", error);
      return undefined;
    },
  },
  {
    name: "stream",
    title: "An answer comes in pieces",
    run: async (exam) => {
      const answer = await exam.ask({ messages: LONG_ANSWER });
      const { deltas, firstMs = 0, ms, end } = answer;
      if (deltas === 0) {
        const fix = `raise max_tokens in opts.params, or think less: ${option("params", { reasoning: "low" })}`;
        throw new Unmet("several pieces", `none, and stop reason ${end?.stop_reason}`, fix);
      }
      if (deltas === 1) {
        const fix = "let the server, and every proxy before it, send the answer while it is made";
        throw new Unmet("several pieces", `the whole answer in one, after ${Math.round(firstMs)} ms`, fix);
      }
      return [`${deltas} pieces, the first after ${Math.round(firstMs)} ms`, speed(answer, ms - firstMs)].join("");
    },
  },
  {
    name: "stop",
    title: "An answer that max_tokens cuts says so",
    run: async (exam) => {
      const { end, said } = await exam.ask({ messages: LONG_ANSWER, params: { max_tokens: FEW_TOKENS } });
      if (end?.stop_reason === "max_tokens") return undefined;
      const expected = `stop reason max_tokens after ${FEW_TOKENS} tokens`;
      if (said.length > FEW_TOKENS * 20) {
        const fix = "this server does not heed max_tokens: bound its answers there";
        throw new Unmet(expected, `${end?.stop_reason}, after ${said.length} characters`, fix);
      }
      // A small model may really have been done.
      const counted = end?.usage?.output_tokens;
      if (counted !== undefined && counted < FEW_TOKENS) throw new Inapplicable(`it was done after ${counted} tokens`);
      throw new Unmet(expected, String(end?.stop_reason), "the server has to say why it stopped (finish_reason)");
    },
  },
  {
    name: "usage",
    title: "Tokens are counted",
    run: async (exam) => {
      for (const { check, answer } of exam.answers) {
        const missing = counts.filter((name) => answer.end?.usage?.[name] === undefined);
        if (missing.length === 0) continue;
        const fix = "a server that counts nothing cannot be held to a budget: have it report usage at a stream's end";
        throw new Unmet(counts.join(" and "), `no ${missing.join(", no ")} in the answer of ${check}`, fix);
      }
      return told(exam.answers[0]?.answer.end?.usage ?? {});
    },
  },
];

/** The first answer of all: the shortest question, asked once. */
export function firstAnswer(exam: Exam): Promise<Answer> {
  return (exam.first ??= exam.ask({ messages: [user("Say hello.")] }));
}

async function failure(exam: Exam): Promise<BytebotError | undefined> {
  return firstAnswer(exam).then(
    () => undefined,
    (error: BytebotError) => error,
  );
}

function isOf(error: BytebotError | undefined, ...codes: ErrorCode[]): error is BytebotError {
  return error !== undefined && codes.includes(error.code);
}

function unmet(expected: string, { code, message }: BytebotError, fix?: string): Unmet {
  return new Unmet(expected, `${code}: ${message}`, fix);
}

function speed({ end }: Answer, ms: number): string {
  const tokens = end?.usage?.output_tokens;
  return tokens === undefined || ms < SHORT_MS ? "" : `, ${((tokens / ms) * 1000).toFixed(1)} tokens/s`;
}

function told(usage: Usage): string {
  const tokens = Object.entries(usage).filter(([name, count]) => name.endsWith("_tokens") && count !== undefined);
  const cost = usage["cost_usd"];
  const price = typeof cost === "number" ? `$${Number(cost.toPrecision(3))}` : "cost unknown";
  return [...tokens.map(([name, count]) => `${name.replace("_tokens", "")} ${String(count)}`), price].join(", ");
}
