import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface Script {
  url: string;
  functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[];
}

/** How often each place of each file ran, from what Node left in `folder` (NODE_V8_COVERAGE), all processes together. */
export class Counts {
  private readonly files = new Map<string, Float64Array>();

  constructor(folder: string, counts: (file: string) => boolean) {
    for (const name of readdirSync(folder)) {
      const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { result: Script[] };
      for (const script of result) {
        // One file may be loaded several times, each with a query of its own.
        const file = script.url.startsWith("file:") ? fileURLToPath(script.url) : "";
        if (counts(file)) this.add(file, painted(script));
      }
    }
  }

  isLoaded(file: string): boolean {
    return this.files.has(file);
  }

  /** 0 for a file that nothing loads. */
  at(file: string, place: number): number {
    return this.files.get(file)?.[place] ?? 0;
  }

  private add(file: string, counts: Float64Array): void {
    const before = this.files.get(file);
    // A thread's later reports end with the last function that ran in it.
    const [sum, other] = !before || before.length < counts.length ? [counts, before ?? []] : [before, counts];
    for (const [place, count] of other.entries()) sum[place]! += count;
    this.files.set(file, sum);
  }
}

/** V8 tells outer ranges before the inner ones, whose counts hold. */
function painted({ functions }: Script): Float64Array {
  const ranges = functions.flatMap((each) => each.ranges);
  const counts = new Float64Array(Math.max(...ranges.map((range) => range.endOffset)));
  for (const { startOffset, endOffset, count } of ranges) counts.fill(count, startOffset, endOffset);
  return counts;
}
