import { Box, Text } from "ink";
import { fallbackText, type Field } from "./form.ts";
import { Input } from "./input.tsx";
import { oneLine } from "./printable.ts";
import type { Asking } from "./state.ts";

const OPTIONS = 9;
const HOW = {
  choice: "a number or the arrows",
  text: "Enter answers",
  number: "a number",
  integer: "a whole number",
  json: "JSON",
};

/** What is asked for now; the question itself, however long, stands above. */
export function Ask({ asking, columns, rows }: { asking: Asking; columns: number; rows: number }) {
  const field = asking.fields[asking.at]!;
  const entry = asking.entries[asking.at]!;
  return (
    <Box flexDirection="column">
      <Text color="yellow">{`${oneLine(titleOf(asking, field), columns - 40)} (${howOf(asking, field)})`}</Text>
      {field.choices.length > 0 ? (
        <Options options={field.choices.map(({ label }) => label)} choice={entry.choice} columns={columns} />
      ) : (
        <Input editor={entry.answer} columns={columns} rows={rows} />
      )}
      {asking.problem !== "" && <Text color="red">{oneLine(asking.problem, columns * 2)}</Text>}
    </Box>
  );
}

function titleOf({ title, fields, at }: Asking, { label }: Field): string {
  return fields[at]!.name === undefined ? title : label;
}

function howOf({ fields, at }: Asking, field: Field): string {
  const fallback = fallbackText(field);
  const empty = fallback === undefined ? "may be left out" : `else ${oneLine(fallback, 20)}`;
  return [
    ...(fields.length > 1 ? [`${at + 1} of ${fields.length}`] : []),
    field.kind === "text" ? HOW.text : `${HOW[field.kind]}, then Enter`,
    ...(field.required && fallback === undefined ? [] : [empty]),
  ].join("; ");
}

function Options({ options, choice, columns }: { options: readonly string[]; choice: number; columns: number }) {
  const top = Math.max(0, Math.min(choice - OPTIONS + 1, options.length - OPTIONS));
  return options.slice(top, top + OPTIONS).map((option, offset) => {
    const index = top + offset;
    const marked = index === choice;
    return (
      <Text key={index} bold={marked}>{`${marked ? "❯" : " "} ${index + 1}. ${oneLine(option, columns - 8)}`}</Text>
    );
  });
}
