import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { printable } from "../printable.ts";
import { decided, toScope, words } from "./decided.ts";

export async function run(args: string[]): Promise<number> {
  const { db, given } = words("fork", args, ["SCOPE", "SEQ", "TO"]);
  const [scope = "", seq = "", to = ""] = given;
  const at = Number(seq);
  if (!/^\d+$/.test(seq) || !Number.isSafeInteger(at))
    throw new UsageError(
      "log",
      `${JSON.stringify(seq)} is no seq: it is that of an infer_chunk loop_done, as log show --json tells`,
    );
  await decided(db, (app) => app.fork(toScope(scope), at, toScope(to)));
  printLine(`${printable(to)} begins with ${printable(scope)} up to ${at}`);
  return 0;
}
