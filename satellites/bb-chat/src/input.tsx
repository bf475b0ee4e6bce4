import { Text } from "ink";
import { visible, type Editor } from "./editor.ts";
import { graphemes, shown } from "./printable.ts";

const ROWS = 6;

/** The input lines around the cursor, which is drawn as an inverse character. */
export function Input({ editor, columns, rows }: { editor: Editor; columns: number; rows: number }) {
  const { lines, row, column } = visible(editor, Math.min(ROWS, Math.max(1, rows - 6)), columns - 3);
  return lines.map((line, index) => (
    <Text key={index} wrap="hard">
      <Text color="cyan">{index === 0 ? "> " : "  "}</Text>
      {index === row ? <AtCursor line={line} column={column} /> : shown(line)}
    </Text>
  ));
}

function AtCursor({ line, column }: { line: string; column: number }) {
  const rest = line.slice(column);
  const [under] = graphemes.segment(rest);
  return (
    <>
      {shown(line.slice(0, column))}
      <Text inverse>{under ? shown(under.segment) : " "}</Text>
      {shown(rest.slice(under?.segment.length ?? 0))}
    </>
  );
}
