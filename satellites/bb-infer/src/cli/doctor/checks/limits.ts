import { randomUUID } from "node:crypto";
import { BytebotError } from "bytebot/sdk";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import type { Exam } from "../exam.ts";
import { option, user } from "../messages.ts";

/** Tokens of a beginning that every vendor keeps, and of one that is only tried. */
const LONG = 5_000;
const SHORT = 200;
/** Where a context is small, so much of it. */
const SHARE = 0.125;
/** How often the same request is sent after the first: what was written is not always there at once. */
const REPEATS = 2;
/** A shorter key is a placeholder for a server that wants none, as in "none" or "ollama". */
const KEY_LENGTH = 8;
const WRONG_KEY = "bb-infer-doctor-wrong-key";

export const limitChecks: Check[] = [
  {
    name: "prompt_cache",
    title: "The same beginning again is read from the cache, where that is announced",
    run: async (exam) => {
      const announced = exam.announces("prompt_cache");
      const system = beginning(exam, announced ? LONG : SHORT);
      const request = { system, messages: [user("Say hello.")], params: { max_tokens: 16 } };
      const first = (await exam.ask(request)).end?.usage;
      if (first?.input_tokens === undefined) throw new Inapplicable("no tokens are counted (usage)");
      for (let n = 0; n < (announced ? REPEATS : 1); n++) {
        const read = cacheRead((await exam.ask(request)).end?.usage);
        if (announced && read > 0) return `${read} tokens read${written(first)}`;
      }
      if (announced) {
        const fix = `take it out with ${option("capabilities", { prompt_cache: null })}, or set ${option("cache", "auto")}`;
        throw new Unmet("cache_read_tokens at the second request", `none in ${REPEATS + 1} requests`, fix);
      }
      const seen = exam.answers.find(({ answer }) => cacheRead(answer.end?.usage) > 0);
      if (!seen) return "not announced, and none was read";
      const fix = `it has a cache: set ${option("capabilities", { prompt_cache: {} })}`;
      throw new Unmet("no cached tokens, as no cache is announced", `some in the answer of ${seen.check}`, fix);
    },
  },
  {
    name: "wrong_key",
    title: "A wrong key is refused as unauthorized",
    run: async (exam) => {
      const { key, reopen } = exam.subject;
      if (!key) throw new Inapplicable("no key is used");
      if (key.length < KEY_LENGTH) throw new Inapplicable(`${key.name} holds a placeholder`);
      const provider = await reopen({ [key.name]: WRONG_KEY });
      try {
        await exam.ask({ messages: [user("Say hello.")], params: { max_tokens: 16 } }, {}, provider);
      } catch (error) {
        if (!(error instanceof BytebotError) || error.code === "cancelled") throw error;
        if (error.code === "unauthorized") return undefined;
        throw new Unmet("unauthorized", `${error.code}: ${error.message}`);
      } finally {
        await provider.close();
      }
      throw new Unmet(
        "unauthorized",
        "an answer",
        "this server takes any key: guard it otherwise, and leave opts.api_key_env out",
      );
    },
  },
];

function cacheRead(usage: { cache_read_tokens?: number | undefined } | undefined): number {
  return usage?.cache_read_tokens ?? 0;
}

function written(usage: { cache_write_tokens?: number | undefined } | undefined): string {
  return usage?.cache_write_tokens ? `, ${usage.cache_write_tokens} written before` : "";
}

/** A system text that no earlier run sent, as long as a cache needs it and the context allows. */
function beginning({ capabilities }: Exam, most: number): string {
  const context = capabilities["context_tokens"];
  const tokens = typeof context === "number" ? Math.min(most, Math.floor(context * SHARE)) : most;
  const words = "the sea is wide and the boat is small ".repeat(Math.ceil(tokens / 9)).split(" ", tokens);
  return `Run ${randomUUID()}. Answer in one word. ${words.join(" ")}`;
}
