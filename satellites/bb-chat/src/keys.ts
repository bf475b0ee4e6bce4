import type { Key } from "ink";
import { edits, insert, type Editor } from "./editor.ts";

const NO_KEY: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

/**
 * What was typed fast, or pasted by a terminal that does not mark it, comes as one text: taken apart, so that its
 * control characters are keys again. A return within it is a new line, the last one sends.
 */
export function typed(input: string, key: Key): [string, Key][] {
  if (input.length < 2 || key.ctrl || key.meta) return [[input, key]];
  const parts = input.split(/([\u0000-\u001f])/).filter((part) => part !== "");
  return parts.map((part, index) => {
    // A newline too: what was typed before the terminal was ours has its returns translated.
    if (part === "\r" || part === "\n")
      return index === parts.length - 1 ? ["", { ...NO_KEY, return: true }] : ["\n", NO_KEY];
    if (part >= " " || part === "\t") return [part, NO_KEY];
    return [String.fromCharCode(part.charCodeAt(0) + 96), { ...NO_KEY, ctrl: true }];
  });
}

/** The editor after one key; keys that edit nothing change nothing. */
export function edited(editor: Editor, input: string, key: Key): Editor {
  if (key.leftArrow) return edits.left(editor);
  if (key.rightArrow) return edits.right(editor);
  if (key.upArrow) return edits.up(editor);
  if (key.downArrow) return edits.down(editor);
  if (key.home) return edits.home(editor);
  if (key.end) return edits.end(editor);
  if (key.backspace) return edits.backspace(editor);
  if (key.delete) return edits.delete(editor);
  if (key.return) return insert(editor, "\n");
  if (key.ctrl) return control(editor, input);
  if (key.meta || key.escape || key.tab || key.pageUp || key.pageDown) return editor;
  return insert(editor, input);
}

function control(editor: Editor, letter: string): Editor {
  switch (letter) {
    case "a":
      return edits.home(editor);
    case "e":
      return edits.end(editor);
    case "d":
      return edits.delete(editor);
    case "u":
      return edits.killBefore(editor);
    case "k":
      return edits.killAfter(editor);
    case "w":
      return edits.killWord(editor);
    default:
      return editor;
  }
}
