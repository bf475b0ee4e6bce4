import { printLine } from "../output.ts";
import { printable } from "../printable.ts";
import { toNumber } from "./arguments.ts";
import { decided, toScope, words } from "./decided.ts";

export async function run(args: string[]): Promise<number> {
  const { db, given } = words("fork", args, ["SCOPE", "SEQ", "TO"]);
  const [scope = "", seq, to = ""] = given;
  const at = toNumber("SEQ", seq);
  await decided(db, { event_type: "bb_fork", id: "fork", scope: toScope(scope), at, to: toScope(to) });
  printLine(`${printable(to)} begins with ${printable(scope)} up to ${at}`);
  return 0;
}
