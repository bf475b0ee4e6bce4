/**
 * Tries the mutants that its parent names, one after the other, in one process: of each it loads the changed file and what
 * imports it anew, and runs the tests up to the first that fails. Answers `{noticed}`, or not at all where a loop is endless.
 */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";
import { collected } from "./collected.ts";
import type { Mutant } from "./mutants.ts";

/** `file` and those that import it, directly or not, the tests among them: absolute paths. */
export interface Job {
  file: string;
  importers: string[];
  tests: string[];
}

const job = JSON.parse(process.argv[2]!) as Job;
const mutated = pathToFileURL(job.file).href;
const anew = new Set([job.file, ...job.importers].map((path) => pathToFileURL(path).href));
const source = readFileSync(job.file, "utf8");
let changed = source;
let tries = 0;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "node:test") return next(new URL("collected.ts", import.meta.url).href, context);
    const found = next(specifier, context);
    return anew.has(found.url) ? { ...found, url: `${found.url}?try=${tries}` } : found;
  },
  load(url, context, next) {
    if (url !== `${mutated}?try=${tries}`) return next(url, context);
    return { format: "module", source: stripTypeScriptTypes(changed), shortCircuit: true };
  },
});

async function isNoticed({ start, end, to }: Mutant): Promise<boolean> {
  tries++;
  changed = source.slice(0, start) + to + source.slice(end);
  collected.length = 0;
  try {
    for (const file of job.tests) await import(`${pathToFileURL(file).href}?try=${tries}`);
    for (const body of collected) await body();
    return false;
  } catch {
    return true;
  }
}

process.on("message", (mutant: Mutant) => {
  void isNoticed(mutant).then((noticed) => process.send!({ noticed }));
});
