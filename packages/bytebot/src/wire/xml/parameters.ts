import type { KindOf } from "./dialect.ts";
import { encodeAttribute, type Escapes } from "./escape.ts";
import type { TaggedForm } from "./tagged.ts";

/** The parameters of a call in a tagged form, each as its kind is read. */
export function writeParameters(
  form: TaggedForm,
  tool: string,
  input: Record<string, unknown>,
  kindOf: KindOf,
): string {
  const lineBreak = form.framed ? "\n" : "";
  return Object.entries(input)
    .map(([key, value]) => {
      const raw = kindOf(tool, key).read === "raw" && typeof value === "string";
      const text = raw ? form.escapes.escape(value) : form.escapes.json(value);
      return `${opening(form.parameter, key)}${lineBreak}${text}${lineBreak}${form.parameterEnd}\n`;
    })
    .join("");
}

/** A tag with a name in it. */
export function opening(tag: string, name: string): string {
  return `${tag}${encodeAttribute(name)}${tag.endsWith('"') ? '">' : ">"}`;
}

/** What a tool's result says, with its tags escaped. */
export function resultText(escapes: Escapes, text: string): string {
  return text === "" ? "" : `${escapes.escape(text)}\n`;
}
