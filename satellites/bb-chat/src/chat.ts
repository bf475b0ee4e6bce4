import { randomUUID } from "node:crypto";
import type { AckEvent, Satellite } from "bytebot/sdk";
import type { Key } from "ink";
import { paste, press, type Answering } from "./answering.ts";
import { edits, insert } from "./editor.ts";
import { namedIn } from "./form.ts";
import { edited, typed } from "./keys.ts";
import type { Options } from "./options.ts";
import { isKnown, recall, type Past } from "./past.ts";
import { busy, enterSays, newView, type Asking, type Mode, type View } from "./state.ts";
import { reduce, type Act, type Shown } from "./view.ts";

const COMMANDS: Partial<Record<string, Mode>> = { "/queue": "queue", "/steer": "steer", "/replace": "replace" };
const HELP = `Enter sends, Alt-Enter or Ctrl-J begins a new line, Up and Down recall what was sent.
While a turn runs Enter sends as the line above the input says; Tab changes that, and so do /queue (it waits its turn),
/steer (the model is told before its next step) and /replace (it takes the place of the running turn).
Esc interrupts what runs. Ctrl-C interrupts too; pressed twice, or when nothing runs, it leaves, like Ctrl-D and /quit.`;

/** One person at one terminal: keys and events in, a view and the satellite's events out. */
export class Chat {
  view: View;
  private readonly satellite: Satellite;
  private readonly past: Past;
  private readonly changed: () => void;
  /** Ctrl-C was pressed while this ran: the next one leaves. */
  private interrupting = false;
  private leaving = false;

  constructor(satellite: Satellite, { scope, banner, mode }: Options, past: Past, changed: () => void) {
    this.view = recall(newView(scope, banner, satellite.componentId, mode), past);
    this.past = past;
    this.satellite = satellite;
    this.changed = changed;
  }

  show(event: Shown): void {
    if (isKnown(this.past, event)) return;
    this.apply(event);
    if (!busy(this.view)) this.interrupting = false;
  }

  printed(): void {
    this.view = reduce(this.view, { act: "printed" });
  }

  /** The connection has closed: because the person left, or for a reason to tell. */
  ended(reason: string): void {
    if (!this.leaving) this.apply({ act: "error", text: `The connection to the Hub has ended: ${reason}.` });
    this.apply({ act: "leave" });
  }

  readonly leave = (): void => {
    this.leaving = true;
    void this.satellite.close("the person left");
  };

  readonly paste = (text: string): void => {
    const [asking] = this.view.asking;
    if (!asking) this.apply({ act: "edit", editor: insert(this.view.editor, text) });
    else if (!asking.answered) this.enter(asking, paste(asking, text));
  };

  /** A key, or several that came in one piece. */
  readonly key = (input: string, key: Key): void => {
    for (const [part, pressed] of typed(input, key)) this.press(part, pressed);
  };

  private press(input: string, key: Key): void {
    const [asking] = this.view.asking;
    if (key.ctrl && input === "c") this.cancel();
    else if (asking) {
      if (!asking.answered) this.answer(asking, press(asking, input, key));
    } else if (key.tab && !key.shift) this.apply({ act: "mode", mode: this.view.mode === "steer" ? "queue" : "steer" });
    else if (key.escape) {
      if (busy(this.view)) this.interrupt("the person pressed Esc");
    } else if (key.ctrl && input === "d" && this.view.editor.text === "") this.leave();
    else if (key.return && !key.meta) this.submit();
    else this.apply({ act: "edit", editor: edited(this.view.editor, input, key) });
  }

  private cancel(): void {
    if (!busy(this.view) || this.interrupting) return this.leave();
    this.interrupting = true;
    this.interrupt("the person pressed Ctrl-C");
    this.apply({ act: "note", text: "Interrupting; Ctrl-C again leaves." });
  }

  private interrupt(reason: string): void {
    const failed = (why: string): Act => ({ act: "error", text: `The interrupt was not taken: ${why}.` });
    this.satellite.interrupt(this.view.scope, reason).catch(this.tell(failed));
  }

  private submit(): void {
    const { text } = this.view.editor;
    const command = text.trim();
    if (command === "") return;
    if (this.view.unsure) {
      this.apply({ act: "sure" });
      const text = "Not sent: the question that you were answering is closed. Enter again sends this as a message.";
      return this.apply({ act: "note", text });
    }
    if (command === "/quit" || command === "/exit") return this.leave();
    if (command === "/help") {
      this.apply({ act: "edit", editor: edits.clear(this.view.editor) });
      return this.apply({ act: "note", text: HELP });
    }
    const mode = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (mode) {
      this.apply({ act: "edit", editor: edits.clear(this.view.editor) });
      this.apply({ act: "mode", mode });
      return this.apply({ act: "note", text: `${enterSays(this.view)}, while a turn runs.` });
    }
    const id = `u_${randomUUID()}`;
    this.apply({ act: "send", id, text });
    this.satellite.sendUserEvent(this.view.scope, text, { id, mode: this.view.mode }).then(
      ({ fate }: AckEvent) => this.apply({ act: "fate", id, fate }),
      this.tell((reason) => ({ act: "failed", id, reason })),
    );
  }

  private answer(asking: Asking, answering: Answering): void {
    if ("enter" in answering) return this.enter(asking, answering.enter);
    const { question, fields } = asking;
    this.enter(asking, { answered: true, problem: "" });
    const failed = (problem: string): Act => {
      const change = { answered: false, problem, at: namedIn(fields, problem) };
      return { act: "enter", id: question.id, change };
    };
    const value = answering.outcome === "accepted" ? answering.value : undefined;
    this.satellite.answer(question, answering.outcome, value).catch(this.tell(failed));
  }

  private enter({ question }: Asking, change: Partial<Asking>): void {
    this.apply({ act: "enter", id: question.id, change });
  }

  /** What the Hub did not take is told, but not to a person who has left. */
  private tell(act: (reason: string) => Act): (error: unknown) => void {
    return (error) => {
      if (!this.leaving) this.apply(act(error instanceof Error ? error.message : String(error)));
    };
  }

  private apply(event: Shown | Act): void {
    if (this.view.left) return; // nothing is drawn any more
    this.view = reduce(this.view, event);
    this.changed();
  }
}
