import assert from "node:assert/strict";
import type { Turn } from "../formats/index.ts";

/** What one provider or another insists on. */
export function mustBeStrict(turns: readonly Turn[]): void {
  const shown = JSON.stringify(turns, null, 1);
  assert.equal(turns[0]?.role, "user", `the person begins: ${shown}`);
  assert.equal(turns.at(-1)?.role, "user", `and is last: ${shown}`);
  for (const [at, { role, parts }] of turns.entries()) {
    assert.notEqual(role, turns[at - 1]?.role, `turns alternate: ${shown}`);
    assert.ok(parts.length > 0, `no turn is empty: ${shown}`);
    for (const part of parts) if ("text" in part) assert.match(part.text, /\S/, `no text is blank: ${shown}`);
    const calls = (turns[at - 1]?.parts ?? []).flatMap((part) => ("call" in part ? [part.id] : []));
    const results = parts.flatMap((part) => ("result" in part ? [part.id] : []));
    assert.deepEqual(results, calls, `each call has its result in the next turn: ${shown}`);
    const first = parts.findIndex((part) => !("result" in part));
    if (results.length > 0 && first >= 0) assert.equal(first, results.length, `results come first: ${shown}`);
  }
}
