import type { Block } from "bytebot/sdk";
import { Unmet, type Check } from "../check.ts";
import { assistant, option, user } from "../messages.ts";

export const thinkingChecks: Check[] = [
  {
    name: "thinking",
    title: "It thinks where that is announced, and takes its thinking back",
    run: async (exam) => {
      const seen = exam.answers.find(({ answer }) => answer.of("thinking").length > 0);
      if (!exam.announces("thinking")) {
        if (!seen) return "not announced, and none came";
        const fix = `it thinks: set ${option("capabilities", { thinking: {} })}`;
        throw new Unmet("no thinking, as none is announced", `some in the answer of ${seen.check}`, fix);
      }
      const question = user(
        "A bat and a ball cost 110 cents. The bat costs 100 more than the ball. What does the ball cost?",
      );
      const params = { reasoning: "high", max_tokens: 4_096 };
      const answer = await exam.ask({ messages: [question], params });
      const thoughts = answer.of("thinking");
      if (thoughts.length === 0) {
        const fix = `it shows no thinking: take it out with ${option("capabilities", { thinking: null })}`;
        throw new Unmet("thinking, as it is announced", "an answer without", fix);
      }
      const messages = [question, assistant(kept(answer.blocks)), user("And the bat?")];
      await exam.ask({ messages, params });
      const signed = thoughts.filter(({ signature }) => signature !== undefined).length;
      return `${thoughts.reduce((sum, { thinking }) => sum + String(thinking).length, 0)} characters, ${signed > 0 ? "signed, and taken back" : "unsigned: not sent back"}`;
    },
  },
];

/** Unsigned thinking is never sent back, and a text is needed where nothing else is left. */
function kept(blocks: readonly Block[]): Block[] {
  const sent = blocks.filter(({ type, signature }) => type !== "thinking" || signature !== undefined);
  return sent.some(({ type }) => type === "text") ? sent : [...sent, { type: "text", text: "5 cents." }];
}
