/**
 * Runs seeds of the simulation.
 *
 *   npm run sim -- --seed 7                   one seed: prints all that happened in it
 *   npm run sim -- --seeds 1000 --from 5000   many; stops at the first that fails, and says how to see it again
 */
import { parseArgs } from "node:util";
import { run, type Shrink } from "./run.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, seeds: { type: "string" }, from: { type: "string" }, moves: { type: "string" } },
});
const shrink: Shrink = values.moves === undefined ? {} : { moves: Number(values.moves) };

if (values.seed !== undefined) {
  const { failure, trace } = await run(Number(values.seed), shrink);
  process.stdout.write(trace());
  if (failure !== undefined) process.exitCode = 1;
} else {
  const from = Number(values.from ?? 1);
  const count = Number(values.seeds ?? 200);
  const began = performance.now();
  let events = 0;
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await run(seed, shrink);
    events += outcome.events;
    if (outcome.failure === undefined) continue;
    console.log(`seed ${seed} fails: ${outcome.failure}`);
    console.log(`see it again: npm run sim -- --seed ${seed}${await shorter(seed, outcome.failure)}`);
    process.exitCode = 1;
    break;
  }
  const seconds = (performance.now() - began) / 1000;
  if (process.exitCode === undefined)
    console.log(`${count} seeds, ${events} steps, ${seconds.toFixed(1)} s: every invariant held`);
}

/** The fewest things each UI has to do for a failure; it need not be the same one. */
async function shorter(seed: number, failure: string): Promise<string> {
  for (let moves = 0; moves < 10; moves++) {
    const { failure: another } = await run(seed, { moves });
    if (another !== undefined)
      return `\nor a shorter run, which fails by: ${another === failure ? "the same" : another}\n  npm run sim -- --seed ${seed} --moves ${moves}`;
  }
  return "";
}
