/**
 * Runs seeds of the simulation.
 *
 *   npm run sim -- --seed 7                   one seed: prints all that happened in it
 *   npm run sim -- --seeds 1000 --from 5000   many; stops at the first that fails, and says how to see it again
 *
 * `--hard`: the Hub itself is killed again and again. `--moves N`: each UI does N things; `--bare`: no search for a shorter run that fails.
 */
import { parseArgs } from "node:util";
import { run, type Mode, type Shrink } from "./run.ts";

const MOST_MOVES = 10;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    moves: { type: "string" },
    hard: { type: "boolean", default: false },
    bare: { type: "boolean", default: false },
  },
});
const mode: Mode = values.hard ? "hard" : "easy";
const shrink: Shrink = values.moves === undefined ? {} : { moves: Number(values.moves) };

process.exitCode =
  values.seed === undefined ? await many(Number(values.from), Number(values.seeds)) : await one(Number(values.seed));

async function one(seed: number): Promise<number> {
  const { failure, trace } = await run(seed, mode, shrink);
  process.stdout.write(trace());
  return failure === undefined ? 0 : 1;
}

async function many(from: number, count: number): Promise<number> {
  const began = performance.now();
  let steps = 0;
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await run(seed, mode, shrink);
    steps += outcome.steps;
    if (outcome.failure === undefined) continue;
    console.log(`seed ${seed} fails: ${outcome.failure}`);
    console.log(`see it again: npm run sim -- --seed ${seed}${values.hard ? " --hard" : ""}`);
    if (!values.bare) await shorter(seed, outcome.failure);
    return 1;
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${count} seeds, ${steps} steps, ${seconds} s: every invariant held`);
  return 0;
}

/** The fewest things each UI has to do for a failure; it need not be the same one. */
async function shorter(seed: number, failure: string): Promise<void> {
  for (let moves = 0; moves < MOST_MOVES; moves++) {
    const { failure: another } = await run(seed, mode, { moves });
    if (another === undefined) continue;
    console.log(
      `shorter${another === failure ? "" : `, and fails by: ${another}`}: npm run sim -- --seed ${seed}${values.hard ? " --hard" : ""} --moves ${moves}`,
    );
    return;
  }
}
