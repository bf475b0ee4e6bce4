/** Floor of the chunk relay: writes a turn's chunks for each line it reads, a batch a tick. */
import { setImmediate } from "node:timers/promises";
import { readLines, writeAll } from "../lines.ts";
import { BATCH, CHUNKS, chunkEvent } from "../work.ts";

const turn = async () => {
  for (let n = 0; n < CHUNKS; n += BATCH) {
    let lines = "";
    for (let i = n; i < n + BATCH; i++) lines += JSON.stringify(chunkEvent(i)) + "\n";
    await writeAll(process.stdout, lines);
    await setImmediate();
  }
};

readLines(process.stdin, () => void turn());
