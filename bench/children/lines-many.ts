/** Floor of many scopes: writes their events at the rate, without being asked. */
import { writeLines } from "../lines.ts";
import { microsNow, pace, scopeOf, SCOPES } from "../pace.ts";
import { chunkEvent } from "../work.ts";

const send = writeLines(process.stdout);
process.stdin.resume();
process.stdin.once("data", () => {
  void pace((number) => send({ ...chunkEvent(number), scope: scopeOf(number % SCOPES), delta: String(microsNow()) }));
});
