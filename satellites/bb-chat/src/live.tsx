import { Box, Text } from "ink";
import type { LiveBlock } from "./fold.ts";
import { callLine, nameOf } from "./item-lines.tsx";
import { oneLine, shown } from "./printable.ts";
import type { View } from "./state.ts";

/** The most that is shown below each other of calls and of inputs that wait. */
const MOST = 5;
/** Of a line without an end only the last part can be on the screen; it is cut in steps, so that it does not jump. */
const STEP = 4096;

/** What runs: the end of what the model is writing, its calls, and what waits. */
export function Live({ view, user, columns, rows }: { view: View; user: string; columns: number; rows: number }) {
  const calls = view.calls.slice(0, MOST);
  const waiting = view.waiting.slice(0, MOST);
  // The input takes up to six lines, the state one, an overflow line each two: more than the screen would flicker.
  const left = Math.max(3, rows - 12 - calls.length - waiting.length);
  const blocks = [...(view.round?.blocks.values() ?? [])].filter(
    ({ text, type }) => text !== "" || type === "tool_use",
  );
  return (
    <Box flexDirection="column">
      <Box flexDirection="column" maxHeight={left} overflowY="hidden" justifyContent="flex-end">
        {blocks.slice(-left).map((block, index) => (
          <Box key={index} flexShrink={0}>
            <BlockText block={block} rows={left} columns={columns} />
          </Box>
        ))}
      </Box>
      {calls.map((call) => (
        <Text key={call.id} color="blue">{`  ${callLine(call)} … ${oneLine(call.progress, 80)}`}</Text>
      ))}
      <More of={view.calls.length} what="calls" />
      {waiting.map((input) => (
        <Text
          key={input.id}
          dimColor
        >{`  ${input.state}: ${oneLine(nameOf(input, user), 40)}: ${oneLine(input.text, columns - 30)}`}</Text>
      ))}
      <More of={view.waiting.length} what="waiting" />
    </Box>
  );
}

function More({ of, what }: { of: number; what: string }) {
  return of > MOST ? <Text dimColor>{`  … ${of - MOST} more ${what}`}</Text> : undefined;
}

function BlockText({ block, rows, columns }: { block: LiveBlock; rows: number; columns: number }) {
  if (block.type === "tool_use")
    return <Text color="blue">{`  ${oneLine(block.name, 64)}(${oneLine(block.text, columns)}`}</Text>;
  const text = shown(endOf(block.text, rows));
  return block.type === "thinking" ? <Text dimColor>{text}</Text> : <Text>{text}</Text>;
}

function endOf(text: string, rows: number): string {
  let start = text.length;
  for (let lines = 0; lines < rows && start > 0; lines++) start = text.lastIndexOf("\n", start - 1);
  const lines = text.slice(start + 1);
  return lines.length < 2 * STEP ? lines : lines.slice(Math.floor(lines.length / STEP - 1) * STEP);
}
