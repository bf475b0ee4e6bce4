/** `node run.ts TARGET --seconds N [--seed N]`: feeds a target with one seed after the other, and names the one that fails. */
import { parseArgs } from "node:util";
import { framer } from "./framer.ts";
import { Random, type Target } from "./random.ts";
import { scope } from "./scope.ts";
import { xml } from "./xml.ts";

const targets: Record<string, Target> = { framer, scope, xml };
const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "10" }, seed: { type: "string" } },
  allowPositionals: true,
});
const [name = ""] = positionals;
const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
const seconds = Number(values.seconds);
if (!target || !Number.isFinite(seconds)) {
  console.error(`usage: npm run fuzz -- ${Object.keys(targets).join("|")} [--seconds N] [--seed N]`);
  process.exit(2);
}
const only = values.seed === undefined ? undefined : Number(values.seed);
const until = performance.now() + seconds * 1000;
let seed = only ?? Date.now() >>> 0;
let tries = 0;
do {
  try {
    target(new Random(seed));
  } catch (error) {
    console.error(error);
    console.error(`${name} fails for one input: npm run fuzz -- ${name} --seed ${seed}`);
    process.exit(1);
  }
  tries++;
  seed = (seed + 1) >>> 0;
} while (only === undefined && performance.now() < until);
console.log(`${name}: ${tries} inputs, none failed`);
