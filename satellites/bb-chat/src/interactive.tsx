import type { Satellite } from "bytebot/sdk";
import { render } from "ink";
import { Chat } from "./chat.ts";
import type { Options } from "./options.ts";
import { past } from "./past.ts";
import { Screen } from "./screen.tsx";
import { shownTypes } from "./view.ts";

/** Redraws at most this often, in milliseconds: a model may send a thousand deltas a second. */
const FRAME_MS = 16;

/** The chat on a terminal; settles when the person leaves or the connection closes, the terminal as it was. */
export async function interactive(satellite: Satellite, options: Options): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  // What happens meanwhile is held until start().
  const before = await past(satellite, options.scope);
  const chat = new Chat(satellite, options, before, () => (timer ??= setTimeout(draw, FRAME_MS)));
  const screen = () => <Screen view={chat.view} user={options.user} onKey={chat.key} onPaste={chat.paste} />;
  const ink = render(screen(), { exitOnCtrlC: false, interactive: true });
  let gone = false;
  const leave = () => chat.leave();
  const exited = ink.waitUntilExit().finally(() => (gone = true));
  // Where drawing fails Ink ends by itself; then nobody could leave any more.
  void exited.then(leave, leave);
  process.stdin.once("end", leave);
  function draw(): void {
    timer = undefined;
    if (gone) return;
    ink.rerender(screen());
    // Ink prints what is finished before rerender returns.
    chat.printed();
  }
  try {
    draw();
    for (const type of shownTypes) satellite.on(type, (event) => chat.show(event));
    const reason = await satellite.start();
    chat.ended(reason);
  } finally {
    clearTimeout(timer);
    process.stdin.off("end", leave);
    draw();
    ink.unmount();
    await exited;
  }
}
