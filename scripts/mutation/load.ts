/** Loaded before the tests (--import): gives them one source file with one change in it. The file itself stays as it is. */
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { readFileSync } from "node:fs";
import type { Mutant } from "./mutants.ts";

const { url, start, end, to } = JSON.parse(process.env["BYTEBOT_MUTANT"]!) as Mutant & { url: string };

registerHooks({
  load(loaded, context, next) {
    if (loaded !== url) return next(loaded, context);
    const source = readFileSync(new URL(url), "utf8");
    const changed = source.slice(0, start) + to + source.slice(end);
    return { format: "module", source: stripTypeScriptTypes(changed), shortCircuit: true };
  },
});
