import { parentPort } from "node:worker_threads";
import type { Validator } from "@cfworker/json-schema";
import { apply, compile, type Outcome } from "./schema.ts";
import type { Work } from "./schema-thread.ts";

/** The thread where costly schemas run: whoever keeps it busy too long has it ended (rule TOL-7). */

const MAX_COMPILED = 100;
const compiled = new Map<string, Validator>();

function validatorOf(text: string): Validator {
  let validator = compiled.get(text);
  if (!validator) {
    validator = compile(text);
    if (compiled.size >= MAX_COMPILED) compiled.clear();
    compiled.set(text, validator);
  }
  return validator;
}

function outcomeOf({ schemas, values }: Work): Outcome {
  try {
    const validators = schemas.map(validatorOf);
    for (const [index, value] of values.entries()) {
      const outcome = apply(validators[index]!, value);
      if (outcome.result !== "fits") return outcome;
    }
    return { result: "fits" };
  } catch (error) {
    return { result: "unusable", why: String(error).slice(0, 2000) };
  }
}

parentPort!.on("message", (work: Work) => parentPort!.postMessage(outcomeOf(work)));
parentPort!.postMessage("ready");
