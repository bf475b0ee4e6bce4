import { boundary, graphemes } from "./printable.ts";

/** A text with a cursor (an index into it, always between two characters a person sees) and what was sent before. */
export interface Editor {
  text: string;
  cursor: number;
  history: readonly string[];
  /** Where in the history the text stands; `history.length` is the new text, kept in `draft` meanwhile. */
  at: number;
  draft: string;
}

const MOST_HISTORY = 200;

export function newEditor(history: readonly string[] = []): Editor {
  return { text: "", cursor: 0, history, at: history.length, draft: "" };
}

/** Typed or pasted text at the cursor; line ends of any kind become newlines. */
export function insert(editor: Editor, text: string): Editor {
  return splice(editor, editor.cursor, editor.cursor, text.replace(/\r\n?/g, "\n"));
}

export function withText(editor: Editor, text: string): Editor {
  return { ...editor, text, cursor: text.length };
}

/** The text was sent: it joins the history, and a new one begins. */
export function sent(editor: Editor): Editor {
  const repeated = editor.history.at(-1) === editor.text;
  return newEditor(repeated ? editor.history : [...editor.history, editor.text].slice(-MOST_HISTORY));
}

/** What the editing keys do. */
export const edits = {
  left: (editor: Editor) => moved(editor, before(editor)),
  right: (editor: Editor) => moved(editor, after(editor)),
  home: (editor: Editor) => moved(editor, lineStart(editor)),
  end: (editor: Editor) => moved(editor, lineEnd(editor)),
  up: (editor: Editor) => (lineStart(editor) === 0 ? recall(editor, editor.at - 1) : vertical(editor, -1)),
  down: (editor: Editor) =>
    lineEnd(editor) === editor.text.length ? recall(editor, editor.at + 1) : vertical(editor, 1),
  backspace: (editor: Editor) => splice(editor, before(editor), editor.cursor, ""),
  delete: (editor: Editor) => splice(editor, editor.cursor, after(editor), ""),
  killBefore: (editor: Editor) => splice(editor, lineStart(editor), editor.cursor, ""),
  killAfter: (editor: Editor) => splice(editor, editor.cursor, lineEnd(editor), ""),
  killWord: (editor: Editor) => splice(editor, wordStart(editor), editor.cursor, ""),
  clear: (editor: Editor) => newEditor(editor.history),
};

/** The lines around the cursor, at most `rows`, each shortened around it to `width`; and where the cursor is in them. */
export function visible(editor: Editor, rows: number, width: number): { lines: string[]; row: number; column: number } {
  const lines = editor.text.split("\n");
  const row = editor.text.slice(0, editor.cursor).split("\n").length - 1;
  const top = Math.max(0, Math.min(row - rows + 1, lines.length - rows));
  const column = editor.cursor - lineStart(editor);
  const left = column < width ? 0 : boundary(lines[row] ?? "", column - (width >> 1));
  const shown = lines.slice(top, top + rows).map((line, index) => {
    const rest = line.slice(index + top === row ? left : 0);
    return rest.slice(0, boundary(rest, width));
  });
  return { lines: shown, row: row - top, column: column - left };
}

function moved(editor: Editor, cursor: number): Editor {
  return { ...editor, cursor };
}

function splice(editor: Editor, from: number, to: number, text: string): Editor {
  return { ...editor, text: editor.text.slice(0, from) + text + editor.text.slice(to), cursor: from + text.length };
}

function before({ text, cursor }: Editor): number {
  return cursor === 0 ? 0 : boundary(text, cursor - 1);
}

function after({ text, cursor }: Editor): number {
  const next = graphemes.segment(text).containing(cursor);
  return next ? next.index + next.segment.length : cursor;
}

function lineStart({ text, cursor }: Editor): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd({ text, cursor }: Editor): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

function wordStart({ text, cursor }: Editor): number {
  return text.slice(0, cursor).replace(/\S*\s*$/, "").length;
}

/** One line up or down, in the same column where there is one. */
function vertical(editor: Editor, step: -1 | 1): Editor {
  const column = editor.cursor - lineStart(editor);
  const start = step === 1 ? lineEnd(editor) + 1 : lineStart(moved(editor, lineStart(editor) - 1));
  const line = moved(editor, start);
  return moved(editor, boundary(editor.text, Math.min(start + column, lineEnd(line))));
}

function recall(editor: Editor, at: number): Editor {
  if (at < 0 || at > editor.history.length || at === editor.at) return editor;
  const draft = editor.at === editor.history.length ? editor.text : editor.draft;
  return { ...withText(editor, editor.history[at] ?? draft), at, draft };
}
