import { Box, Text } from "ink";
import type { Call, Item } from "./items.ts";
import { oneLine, shown } from "./printable.ts";

/** How much of thoughts and results is shown, in characters; the whole is in the log. */
const SHORT = 200;
const COLORS: Record<string, string> = { ok: "green", denied: "yellow", cancelled: "yellow" };

/** One finished item, as it stays in the scrollback. */
export function ItemLines({ item, user }: { item: Item; user: string }) {
  switch (item.type) {
    case "text":
      return <Text>{shown(item.text)}</Text>;
    case "thinking":
      return <Text dimColor>{`thought: ${oneLine(item.text, SHORT)}`}</Text>;
    case "note":
      return <Text dimColor>{shown(item.text)}</Text>;
    case "error":
      return <Text color="red">{shown(item.text)}</Text>;
    case "user":
      return <UserLines text={item.text} name={nameOf(item, user)} />;
    case "question":
      return (
        <Box flexDirection="column">
          <Text color="yellow">{`? ${shown(item.title)}`}</Text>
          <Text>{shown(item.text)}</Text>
        </Box>
      );
    case "call":
      return (
        <Text>
          <Text color={COLORS[item.status] ?? "red"}>{`  ${callLine(item.call)} → ${oneLine(item.status, 20)}`}</Text>
          {item.result === "" ? "" : `: ${oneLine(item.result, SHORT)}`}
        </Text>
      );
  }
}

/** Who said it: the person here, or another screen by its name. */
export function nameOf({ mine, from }: { mine: boolean; from: string | undefined }, user: string): string {
  return mine ? user : (from ?? "someone else");
}

export function UserLines({ text, name }: { text: string; name: string }) {
  return (
    <Text>
      <Text color="cyan" bold>{`${oneLine(name, 40)}: `}</Text>
      {shown(text)}
    </Text>
  );
}

/** A call in one line: its name and, in short, its arguments. */
export function callLine({ name, args }: Pick<Call, "name" | "args">): string {
  return `${oneLine(name, 64)}(${args})`;
}
