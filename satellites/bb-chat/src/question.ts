import { printableExactly, type EventOf } from "bytebot/sdk";
import { fieldsOf, newEntry } from "./form.ts";
import { print, type Asking, type View } from "./state.ts";

/**
 * The whole question is printed once, however long; what is asked for stays below it. What is to be allowed has nothing in it
 * that cannot be seen.
 */
export function ask(view: View, question: Asking["question"]): View {
  if (view.asking.some((asking) => asking.question.id === question.id)) return view;
  const { approval, scope } = question;
  const where = scope === view.scope ? "" : ` (in ${scope})`;
  const told = (text: string): string => (approval ? printableExactly(text) : text);
  const title = `${approval ? told(`May ${approval.name} run?`) : "A question to you"}${where}`;
  const exact = approval ? [JSON.stringify(approval.input, null, 2) ?? ""] : [];
  const fields = fieldsOf(question);
  const asking: Asking = {
    question,
    title,
    fields,
    at: 0,
    entries: fields.map(newEntry),
    problem: "",
    answered: false,
  };
  const form = fields.length > 1 ? fields.map(({ label }) => `  ${label}`) : [];
  const text = told([question.prompt, ...exact, ...form].filter((part) => part !== "").join("\n"));
  return print({ ...view, asking: [...view.asking, asking] }, { type: "question", title, text });
}

/** It is over, by whoever: here, at another screen, or nobody. What was decided of a call is its `choice`. */
export function resolved(view: View, event: EventOf<"input_resolved">): View {
  const asking = view.asking.find(({ question }) => question.id === event.id);
  if (!asking) return view;
  const rest = { ...view, asking: view.asking.filter((other) => other !== asking) };
  const { outcome, by } = event;
  const choice = event["choice"];
  const how = outcome === "accepted" && typeof choice === "string" ? `answered: ${choice}` : outcome;
  const who = by === undefined || by === view.self ? "" : ` (by ${by})`;
  const unsure = !asking.answered && asking.entries.some(({ choice, answer }) => choice !== -1 || answer.text !== "");
  return print({ ...rest, unsure: view.unsure || unsure }, { type: "note", text: `${asking.title} ${how}${who}` });
}

/** What was entered for the question with this id changes. */
export function enter(view: View, id: string, change: Partial<Asking>): View {
  return {
    ...view,
    asking: view.asking.map((asking) => (asking.question.id === id ? { ...asking, ...change } : asking)),
  };
}
