import { isTitle } from "../../wire/index.ts";
import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { printable } from "../printable.ts";
import { decided, toScope, words } from "./decided.ts";

export async function run(args: string[]): Promise<number> {
  const { db, given } = words("rename", args, ["SCOPE", "TITLE"]);
  const [scope = "", title = ""] = given;
  if (!isTitle(title))
    throw new UsageError("log", "a title is 1 to 200 characters, without control characters and marks that turn text");
  await decided(db, (app) => app.rename(toScope(scope), title));
  printLine(`${printable(scope)}: ${printable(title)}`);
  return 0;
}
