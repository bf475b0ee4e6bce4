import { withText } from "./editor.ts";
import { print, type View, type Waiting } from "./state.ts";

/** The Hub's echo of an input, ours (known by its id or its sender) or another UI's: the order of the echoes is the order. */
export function arrived(view: View, id: string | undefined, text: string, mine: boolean): View {
  const known = view.waiting.find((input) => input.id === id);
  const input: Waiting = known ? { ...known, state: "queued" } : { id: id ?? "", text, mine, state: "queued" };
  const others = view.waiting.filter((other) => other !== known);
  const free = view.turn === "none" && !others.some(queued);
  const next = { ...view, waiting: [...others, input] };
  return free || known?.state === "started" ? begun(next, input) : next;
}

/** What the Hub answered to an input of ours. */
export function fate(view: View, id: string, name: string | undefined): View {
  const input = view.waiting.find((waiting) => waiting.id === id);
  if (!input) return view;
  if (name === "refused") return returned(view, id, "was refused, because the conversation is busy");
  if (name !== "started") return view;
  if (input.state === "queued") return begun(view, input);
  return { ...view, waiting: view.waiting.map((other) => (other === input ? { ...input, state: "started" } : other)) };
}

/** An input that will not be answered; its sender gets it back, before what is being written. */
export function returned(view: View, id: string, why: string): View {
  const input = view.waiting.find((waiting) => waiting.id === id);
  if (!input) return view;
  const rest = { ...view, waiting: view.waiting.filter((other) => other !== input) };
  if (!input.mine) return rest;
  const draft = rest.editor.text;
  const editor = withText(rest.editor, draft === "" ? input.text : `${input.text}\n${draft}`);
  return print({ ...rest, editor }, { type: "error", text: `Your message ${why}.` });
}

/** The turn that begins now answers what has waited longest. */
export function nextAsked(view: View): View {
  const next = view.turn === "none" ? view.waiting.find(queued) : undefined;
  return next ? begun(view, next) : view;
}

/** An idle conversation has an empty queue: what still waits here was taken up in a way that was not told. */
export function nothingWaits(view: View): View {
  const empty = view.waiting.filter(queued).reduce(begun, view);
  return { ...empty, turn: "none" };
}

function queued(input: Waiting): boolean {
  return input.state !== "sending";
}

function begun(view: View, input: Waiting): View {
  const waiting = view.waiting.filter((other) => other !== input);
  return print({ ...view, waiting, turn: "asked" }, { type: "user", text: input.text, mine: input.mine });
}
