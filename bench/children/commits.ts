/** Commits a row to a file of its own now and then, FULL, and tells how long each took, in µs. */
import { setTimeout } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";

const PAUSE_MS = 20;

const db = new DatabaseSync(process.argv[2]!);
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE entries (events TEXT)");
const insert = db.prepare("INSERT INTO entries VALUES (?)");
let isAsked = true;
process.stdin.once("end", () => (isAsked = false)).resume();
while (isAsked) {
  const started = performance.now();
  insert.run("x".repeat(600));
  process.stdout.write(`${(performance.now() - started) * 1e3}\n`);
  await setTimeout(PAUSE_MS);
}
db.close();
