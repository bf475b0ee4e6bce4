import { randomUUID } from "node:crypto";
import type { AckEvent, Satellite } from "bytebot/sdk";
import type { Key } from "ink";
import { edits, insert } from "./editor.ts";
import { edited, typed } from "./keys.ts";
import type { Options } from "./options.ts";
import { isKnown, recall, type Past } from "./past.ts";
import { toValue } from "./question.ts";
import { busy, newView, type Asking, type View } from "./state.ts";
import { reduce, type Act, type Shown } from "./view.ts";

const HELP = `Enter sends, Alt-Enter or Ctrl-J begins a new line, Up and Down recall what was sent.
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

  constructor(satellite: Satellite, { scope, banner }: Options, past: Past, changed: () => void) {
    this.view = recall(newView(scope, banner, satellite.componentId), past);
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
    else if (!asking.question.options) this.enter(asking, { answer: insert(asking.answer, text), problem: "" });
  };

  /** A key, or several that came in one piece. */
  readonly key = (input: string, key: Key): void => {
    for (const [part, pressed] of typed(input, key)) this.press(part, pressed);
  };

  private press(input: string, key: Key): void {
    const [asking] = this.view.asking;
    if (key.ctrl && input === "c") this.cancel();
    else if (asking) this.pressForAnswer(asking, input, key);
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
    if (command === "/quit" || command === "/exit") return this.leave();
    if (command === "/help") {
      this.apply({ act: "edit", editor: edits.clear(this.view.editor) });
      return this.apply({ act: "note", text: HELP });
    }
    const id = `u_${randomUUID()}`;
    this.apply({ act: "send", id, text });
    this.satellite.sendUserEvent(this.view.scope, text, { id }).then(
      ({ fate }: AckEvent) => this.apply({ act: "fate", id, fate }),
      this.tell((reason) => ({ act: "failed", id, reason })),
    );
  }

  private pressForAnswer(asking: Asking, input: string, key: Key): void {
    if (asking.answered) return;
    const { options } = asking.question;
    if (key.escape) return this.answer(asking, "declined");
    if (key.return && !key.meta) {
      const answer = toValue(asking);
      return "problem" in answer ? this.enter(asking, answer) : this.answer(asking, "accepted", answer.value);
    }
    if (!options) return this.enter(asking, { answer: edited(asking.answer, input, key), problem: "" });
    const step = key.upArrow ? -1 : key.downArrow ? 1 : 0;
    const stepped = step === -1 && asking.choice === -1 ? options.length - 1 : asking.choice + step;
    const choice = /^[1-9]$/.test(input) ? Number(input) - 1 : stepped;
    if (choice !== -1 || step === 0)
      this.enter(asking, { choice: Math.max(-1, Math.min(choice, options.length - 1)), problem: "" });
  }

  private answer({ question }: Asking, outcome: "accepted" | "declined", value?: unknown): void {
    this.apply({ act: "enter", id: question.id, change: { answered: true, problem: "" } });
    const failed = (problem: string): Act => ({ act: "enter", id: question.id, change: { answered: false, problem } });
    this.satellite.answer(question, outcome, value).catch(this.tell(failed));
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
