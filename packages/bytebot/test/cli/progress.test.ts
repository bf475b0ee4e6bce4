import assert from "node:assert/strict";
import { test } from "node:test";
import { progressOn } from "../../src/cli/progress.ts";

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

test("without a terminal a download takes a line for every 10 %", () => {
  const log = screen(false);
  const { show, end } = progressOn(log);
  for (let done = 0; done <= 250; done++) show({ stage: "download", done: done * 1e6, total: 250e6 });
  end();
  assert.equal(log.written.length, 11);
  assert.equal(log.written[4], "downloading the model: 40 % of 250 MB\n");
});

test("on a terminal it is one line that is drawn again for each percent, and closed at the end", () => {
  const terminal = screen(true);
  const { show, end } = progressOn(terminal);
  show({ stage: "wait", done: 0, total: 250e6 });
  for (let done = 0; done <= 250; done++) show({ stage: "download", done: done * 1e6, total: 250e6 });
  end();
  end();
  assert.equal(terminal.written[0], "\r\u001b[Kwaiting for another process that downloads the model");
  assert.equal(terminal.written.at(-2), `\r\u001b[Kdownloading the model: 100 % of 250 MB [${"#".repeat(24)}]`);
  assert.equal(terminal.written.at(-1), "\n");
  assert.equal(terminal.written.length, 1 + 101 + 1);
});
