import { Box, Text } from "ink";
import { Input } from "./input.tsx";
import { oneLine } from "./printable.ts";
import type { Asking } from "./state.ts";

const OPTIONS = 9;

/** What is asked for now; the question itself, however long, stands above. */
export function Ask({ asking, columns, rows }: { asking: Asking; columns: number; rows: number }) {
  const { options, schema } = asking.question;
  const how = options
    ? "a number or the arrows, then Enter"
    : schema && schema["type"] !== "string"
      ? "JSON, then Enter"
      : "Enter answers";
  return (
    <Box flexDirection="column">
      <Text color="yellow">{`${oneLine(asking.title, columns - 34)} (${how})`}</Text>
      {options ? (
        <Options options={options} choice={asking.choice} columns={columns} />
      ) : (
        <Input editor={asking.answer} columns={columns} rows={rows} />
      )}
      {asking.problem !== "" && <Text color="red">{oneLine(asking.problem, columns * 2)}</Text>}
    </Box>
  );
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
