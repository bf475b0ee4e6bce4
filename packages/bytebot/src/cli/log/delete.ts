import { printLine } from "../output.ts";
import { printable } from "../printable.ts";
import { decided, toScope, words } from "./decided.ts";

export async function run(args: string[]): Promise<number> {
  const { db, given } = words("delete", args, ["SCOPE"]);
  const [scope = ""] = given;
  await decided(db, (app) => app.delete(toScope(scope)));
  printLine(`${printable(scope)} is deleted`);
  return 0;
}
