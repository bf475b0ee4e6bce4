import type { EventOf } from "bytebot/sdk";
import { newEditor } from "./editor.ts";
import { print, type Asking, type View } from "./state.ts";

/** The whole question is printed once, however long; what is asked for stays below it. */
export function ask(view: View, question: Asking["question"]): View {
  if (view.asking.some((asking) => asking.question.id === question.id)) return view;
  const { approval, scope } = question;
  const where = scope === view.scope ? "" : ` (in ${scope})`;
  const title = `${approval ? `May ${approval.name} run?` : "A question to you"}${where}`;
  const exact = approval ? [JSON.stringify(approval.input, null, 2) ?? ""] : [];
  const asking: Asking = { question, title, choice: -1, answer: newEditor(), problem: "", answered: false };
  const text = [question.prompt, ...exact].filter((part) => part !== "").join("\n");
  return print({ ...view, asking: [...view.asking, asking] }, { type: "question", title, text });
}

export function resolved(view: View, event: EventOf<"input_resolved">): View {
  const asking = view.asking.find(({ question }) => question.id === event.id);
  if (!asking) return view;
  const rest = { ...view, asking: view.asking.filter((other) => other !== asking) };
  return print(rest, { type: "note", text: `${asking.title} ${event.outcome}` });
}

/** What was entered for the question with this id changes. */
export function enter(view: View, id: string, change: Partial<Asking>): View {
  return {
    ...view,
    asking: view.asking.map((asking) => (asking.question.id === id ? { ...asking, ...change } : asking)),
  };
}

/** The answer as the question wants it: one of its options, text, or JSON where its schema asks for more than text. */
export function toValue({ question, choice, answer }: Asking): { value: unknown } | { problem: string } {
  const { options, schema } = question;
  if (options) {
    const value = options[choice];
    return value === undefined ? { problem: "Choose with a number or the arrows, then press Enter." } : { value };
  }
  if (!schema || schema["type"] === "string") return { value: answer.text };
  try {
    return { value: JSON.parse(answer.text) as unknown };
  } catch {
    return {
      problem: `This is not JSON, which the question asks for: write for example 42, true, "text" or {"a": 1}.`,
    };
  }
}
