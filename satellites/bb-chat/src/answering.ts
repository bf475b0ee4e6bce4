import type { Key } from "ink";
import { insert } from "./editor.ts";
import { read, readAll, type Entry } from "./form.ts";
import { edited } from "./keys.ts";
import type { Asking } from "./state.ts";

/** What a key at a question leads to: a change of what is entered, or an answer. */
export type Answering = { enter: Partial<Asking> } | { outcome: "declined" } | { outcome: "accepted"; value: unknown };

export function press(asking: Asking, input: string, key: Key): Answering {
  if (key.escape) return { outcome: "declined" };
  if (key.return && !key.meta) return next(asking);
  if (key.tab && key.shift) return { enter: { at: Math.max(0, asking.at - 1), problem: "" } };
  const { choices } = asking.fields[asking.at]!;
  const entry = asking.entries[asking.at]!;
  if (choices.length === 0) return write(asking, { ...entry, answer: edited(entry.answer, input, key) });
  const step = key.upArrow ? -1 : key.downArrow ? 1 : 0;
  const stepped = step === -1 && entry.choice === -1 ? choices.length - 1 : entry.choice + step;
  const choice = /^[1-9]$/.test(input) ? Number(input) - 1 : stepped;
  if (choice === -1 && step !== 0) return { enter: {} };
  return write(asking, { ...entry, choice: Math.max(-1, Math.min(choice, choices.length - 1)) });
}

export function paste(asking: Asking, text: string): Partial<Asking> {
  const entry = asking.entries[asking.at]!;
  if (asking.fields[asking.at]!.choices.length > 0) return {};
  return { ...written(asking, { ...entry, answer: insert(entry.answer, text) }) };
}

/** Enter: the next field, or the answer. */
function next(asking: Asking): Answering {
  const { fields, entries, at } = asking;
  const said = read(fields[at]!, entries[at]!);
  if ("problem" in said) return { enter: { problem: said.problem } };
  if (at < fields.length - 1) return { enter: { at: at + 1, problem: "" } };
  const all = readAll(fields, entries);
  return "problem" in all ? { enter: all } : { outcome: "accepted", value: all.value };
}

function write(asking: Asking, entry: Entry): Answering {
  return { enter: written(asking, entry) };
}

function written({ entries, at }: Asking, entry: Entry): Partial<Asking> {
  return { entries: entries.with(at, entry), problem: "" };
}
