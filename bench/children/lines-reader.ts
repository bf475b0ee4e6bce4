/** Floor of many scopes: reads one stream, and says at its end how long its events took. */
import { readLines } from "../lines.ts";
import { reader } from "../pace.ts";

const { read, figure } = reader();
readLines<{ delta: string }>(process.stdin, ({ delta }) => read(Number(delta)));
process.stdout.write(JSON.stringify(await figure) + "\n");
