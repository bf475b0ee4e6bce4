import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { edits, insert, newEditor, sent, visible, withText, type Editor } from "../src/editor.ts";

const FAMILY = "👩‍👩‍👧";
/** The text with the cursor as a bar. */
const show = ({ text, cursor }: Editor) => `${text.slice(0, cursor)}|${text.slice(cursor)}`;
const from = (marked: string): Editor => ({
  ...withText(newEditor(), marked.replace("|", "")),
  cursor: marked.indexOf("|"),
});
const repeat = (editor: Editor, times: number, edit: (editor: Editor) => Editor): Editor =>
  Array.from({ length: times }).reduce<Editor>((each) => edit(each), editor);

test("left, right, backspace and delete go by what a person sees as one character", () => {
  const text = `a${FAMILY}e\u0301日`;
  const end = withText(newEditor(), text);
  assert.equal(show(repeat(end, 2, edits.left)), `a${FAMILY}|e\u0301日`);
  assert.equal(show(repeat(end, 3, edits.left)), `a|${FAMILY}e\u0301日`);
  assert.equal(show(edits.right(repeat(end, 3, edits.left))), `a${FAMILY}|e\u0301日`);
  assert.equal(show(repeat(end, 2, edits.backspace)), `a${FAMILY}|`);
  assert.equal(show(repeat(end, 3, edits.backspace)), "a|");
  assert.equal(show(edits.delete(from(`a|${FAMILY}b`))), "a|b");
});

test("home and end go by the line, Ctrl-U, Ctrl-K and Ctrl-W remove by line and word", () => {
  const editor = from("one\ntwo th|ree\nfour");
  assert.equal(show(edits.home(editor)), "one\n|two three\nfour");
  assert.equal(show(edits.end(editor)), "one\ntwo three|\nfour");
  assert.equal(show(edits.killBefore(editor)), "one\n|ree\nfour");
  assert.equal(show(edits.killAfter(editor)), "one\ntwo th|\nfour");
  assert.equal(show(edits.killWord(editor)), "one\ntwo |ree\nfour");
  assert.equal(show(edits.killWord(from("one two  |"))), "one |");
});

test("a paste keeps its lines, whatever their ends", () => {
  assert.equal(show(insert(from("a|z"), "1\r\n2\r3\n4")), "a1\n2\n3\n4|z");
});

test("up and down move through the lines first, and through what was sent at their ends", () => {
  let editor = sent(withText(newEditor(), "first"));
  editor = sent(withText(editor, "second\nlines"));
  editor = withText(editor, "draft");
  editor = edits.up(editor);
  assert.equal(show(editor), "second\nlines|");
  editor = edits.up(editor);
  assert.equal(show(editor), "secon|d\nlines");
  editor = edits.up(editor);
  assert.equal(show(editor), "first|");
  assert.equal(show(edits.up(editor)), "first|", "there is nothing before the first");
  editor = repeat(editor, 3, edits.down);
  assert.equal(show(editor), "draft|", "what was being written is still there");
});

test("the history is bounded and leaves out what repeats", () => {
  const all = Array.from({ length: 1000 }, (_, index) => index).reduce(
    (editor, index) => sent(withText(editor, `n${index >> 1}`)),
    newEditor(),
  );
  assert.equal(all.history.length, 200);
  assert.equal(all.history.at(-1), "n499");
  assert.equal(all.history.at(-2), "n498");
});

test("whatever is pressed, the cursor stands in the text and cuts nothing in half", () => {
  const keys = Object.values(edits);
  const step = fc.oneof(
    fc.constantFrom(...keys),
    fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => (editor: Editor) => insert(editor, text)),
    fc.constantFrom("\n", FAMILY, "e\u0301", "\r\n").map((text) => (editor: Editor) => insert(editor, text)),
    fc.constant(sent),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const editor = steps.reduce((each, edit) => edit(each), newEditor());
      assert.ok(editor.cursor >= 0 && editor.cursor <= editor.text.length);
      assert.ok(editor.text.slice(0, editor.cursor).isWellFormed() && editor.text.slice(editor.cursor).isWellFormed());
      const { lines, row, column } = visible(editor, 4, 20);
      assert.ok(lines.length <= 4 && row >= 0 && row < lines.length && column <= lines[row]!.length);
    }),
  );
});

test("of a long text the lines around the cursor are shown, and of a long line the part around it", () => {
  const many = withText(newEditor(), Array.from({ length: 100 }, (_, line) => `line ${line}`).join("\n"));
  assert.deepEqual(visible(many, 3, 40), { lines: ["line 97", "line 98", "line 99"], row: 2, column: 7 });
  const long = { ...withText(newEditor(), "x".repeat(5000)), cursor: 4000 };
  const shown = visible(long, 3, 40);
  assert.equal(shown.lines[0]?.length, 40);
  assert.ok(shown.column > 0 && shown.column < 40);
});
