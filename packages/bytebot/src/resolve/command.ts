import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join, resolve as absolute } from "node:path";
import { BytebotError } from "../wire/index.ts";

const SCRIPT = /^[^-].*\.(?:[cm]?[jt]s|py)$/;

/**
 * The command of a stdio entry, its program made absolute where it is a path. "node" stays: whoever starts the child runs
 * this process's own. Throws BytebotError `not_found` where the program, or the script it is to run, is not there:
 * a child that dies on its first line could not say it as well.
 */
export async function checkCommand(command: readonly string[], folder: string, file: string): Promise<string[]> {
  const [program = "", ...args] = command;
  const script = args[0];
  const path = /[/\\]/.test(program) ? absolute(folder, program) : program;
  if (program !== "node" && !(await isProgram(path))) {
    const where =
      path === program ? "is not on the PATH: install it, or write its path" : "is not there, or may not be executed";
    throw new BytebotError("not_found", `${file}: "entry.command" starts "${program}", which ${where}`);
  }
  if (script !== undefined && SCRIPT.test(script) && !(await canUse(absolute(folder, script), constants.R_OK))) {
    const message = `${file}: "entry.command" runs "${script}", which is not in ${folder}: build the component first, or correct the path`;
    throw new BytebotError("not_found", message);
  }
  return [path, ...args];
}

async function isProgram(path: string): Promise<boolean> {
  const endings =
    process.platform === "win32" ? ["", ...(process.env["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const folders = /[/\\]/.test(path)
    ? [""]
    : (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const folder of folders) {
    for (const ending of endings) {
      if (await canUse(join(folder, path + ending), constants.X_OK)) return true;
    }
  }
  return false;
}

async function canUse(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return (await stat(path)).isFile();
  } catch {
    return false; // whatever the reason, the child could not use it either
  }
}
