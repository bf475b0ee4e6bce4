import { BytebotError, type Block } from "bytebot/sdk";
import { z } from "zod";
import { Unmet, type Check } from "../check.ts";
import { option, quoted, user } from "../messages.ts";

/** Its values are few, so that no small model talks on inside of one. Nothing in the question asks for JSON. */
const Reply = z.strictObject({ answer: z.enum(["yes", "no"]), sure: z.boolean() });

/** 32 by 32 pixels, all red. */
const RED: Block = {
  type: "image",
  mime_type: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC",
};

export const formChecks: Check[] = [
  {
    name: "structured_output",
    title: "An answer fits the schema it was asked for, where that is announced",
    run: async (exam) => {
      const announced = exam.announces("structured_output");
      const request = {
        messages: [user("Is Paris the capital of France?")],
        params: { response_schema: z.toJSONSchema(Reply) },
      };
      const asked = exam.ask(request);
      // Not announced, it may be refused.
      const answer = announced ? await asked : await asked.catch(refusedOnly);
      if (!answer) return "not announced, and refused";
      const said = answer.said.trim();
      const wrong = whyNot(said);
      if (announced && wrong !== undefined) {
        const fix = `this model does not keep to a schema: take structured_output out with ${option("capabilities", { structured_output: null })}`;
        throw new Unmet("JSON of the schema", `${quoted(said, 120)} (${wrong})`, fix);
      }
      if (!announced && wrong === undefined) {
        const fix = `it keeps to a schema: set ${option("capabilities", { structured_output: {} })}`;
        throw new Unmet("no structured output, as none is announced", said, fix);
      }
      return announced ? said : "not announced, and not given";
    },
  },
  {
    name: "image",
    title: "A picture is taken where that is announced, and else left out",
    run: async (exam) => {
      const announced = exam.announcesMedia("image/png");
      const messages = [user(RED, "Which colour is this picture? Answer in one word.")];
      const fix = announced
        ? `this model takes no pictures: set ${option("capabilities", { media: [] })}`
        : "a picture that cannot be sent has to be replaced by a text that says so";
      const answer = await exam.ask({ messages }).catch((error: unknown) => {
        if (!(error instanceof BytebotError) || error.code === "cancelled") throw error;
        if (!announced && error.code === "invalid_params") return undefined;
        throw new Unmet("an answer", `${error.code}: ${error.message}`, fix);
      });
      const said = answer?.said.trim() ?? "";
      if (announced) return `of a red one it says ${quoted(said, 40)}`;
      // Of some servers it is not known, and the picture is sent.
      if (exam.subject.provider.media?.test(String(RED["mime_type"])) && /\bred\b/i.test(said)) {
        const fix = `it sees: set ${option("capabilities", { media: ["image/*"] })}`;
        throw new Unmet("a picture that is not seen, as none are announced", quoted(said, 40), fix);
      }
      return `not announced, and ${answer ? "not seen" : "refused"}`;
    },
  },
];

function refusedOnly(error: unknown): undefined {
  if (error instanceof BytebotError && error.code === "invalid_params") return undefined;
  throw error;
}

/** Why a text is not what the schema asks for; undefined where it is. */
function whyNot(said: string): string | undefined {
  try {
    const found = Reply.safeParse(JSON.parse(said));
    return found.success ? undefined : z.prettifyError(found.error).split("\n", 1)[0];
  } catch {
    return "no JSON";
  }
}
