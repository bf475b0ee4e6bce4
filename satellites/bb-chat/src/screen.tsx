import { Box, Static, Text, useInput, usePaste, useWindowSize, type Key } from "ink";
import { Ask } from "./ask.tsx";
import { Input } from "./input.tsx";
import { ItemLines } from "./item-lines.tsx";
import { Live } from "./live.tsx";
import { busy, enterSays, status, type View } from "./state.ts";

interface Props {
  view: View;
  user: string;
  onKey: (input: string, key: Key) => void;
  onPaste: (text: string) => void;
}

/** What is finished goes to the scrollback; below it what runs, one line of state, and the input. */
export function Screen({ view, user, onKey, onPaste }: Props) {
  useInput(onKey);
  usePaste(onPaste);
  const size = useWindowSize();
  const [asking] = view.asking;
  return (
    <>
      <Static key={view.printed} items={[...view.finished]}>
        {(item, index) => <ItemLines key={index} item={item} user={user} />}
      </Static>
      {!view.left && (
        <Box flexDirection="column">
          <Live view={view} user={user} {...size} />
          <Text dimColor>{`── ${status(view)} · ${keysOf(view)}`}</Text>
          {asking ? <Ask asking={asking} {...size} /> : <Input editor={view.editor} {...size} />}
        </Box>
      )}
    </>
  );
}

/** The keys that matter now. */
function keysOf(view: View): string {
  const [asking] = view.asking;
  if (asking) return asking.fields.length > 1 ? "Esc declines · Shift-Tab goes back" : "Esc declines";
  return busy(view) ? `${enterSays(view)} · Tab changes that · Esc interrupts` : "/help";
}
