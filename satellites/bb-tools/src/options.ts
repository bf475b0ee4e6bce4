import { isAbsolute } from "node:path";
import { BytebotError } from "bytebot/sdk";

/** What the app passes to this component. */
export interface Options {
  /** The folder whose files may be listed and read, absolute; absent: no file tools. */
  root: string | undefined;
  /** Files and folders whose name begins with a dot, too: they often hold keys. Default: no. */
  hidden: boolean;
}

/** Checks what the app passed. Throws BytebotError `invalid_params` naming the option that is wrong. */
export function toOptions({ root, hidden = false }: Record<string, unknown>): Options {
  if (root !== undefined && (typeof root !== "string" || !isAbsolute(root))) {
    throw wrong("root", `an absolute path of a folder, as in "/home/me/notes"`, root);
  }
  if (typeof hidden !== "boolean") throw wrong("hidden", "true or false", hidden);
  return { root, hidden };
}

function wrong(name: string, needed: string, value: unknown): BytebotError {
  return new BytebotError(
    "invalid_params",
    `bb-tools: the option "${name}" must be ${needed}, and is ${JSON.stringify(value)}`,
  );
}
