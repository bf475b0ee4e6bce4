import { test } from "node:test";
import { framer } from "./framer.ts";
import { Random, type Target } from "./random.ts";
import { scope } from "./scope.ts";
import { xml } from "./xml.ts";

function tries(target: Target, seeds: number): void {
  for (let seed = 0; seed < seeds; seed++) {
    try {
      target(new Random(seed));
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause });
    }
  }
}

test("random bytes come out of the framer as the lines they are, however they are cut (FRM-1, FRM-4, FRM-5)", () =>
  tries(framer, 2000));
test("random texts make no scope with two spellings, and none that crosses the wall (SCP-1 to SCP-6)", () =>
  tries(scope, 10_000));
test("random answers give the same blocks however they are cut, and what is written is read back (XML-3 to XML-6)", () =>
  tries(xml, 1000));
