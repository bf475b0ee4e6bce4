import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, type Outcome } from "./run.ts";

const NAMES = ["python3", "python3.13", "python3.12", "python3.11", "python"];
/** 3.11 or later, and able to make an environment with pip in it. */
const FITS = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))";
const ASK_MS = 20_000;
const INSTALL_MS = 300_000;

/** The folder of the Python SDK. */
export const folder = join(import.meta.dirname, "../python");

/** A Python that the SDK runs on; undefined: there is none on the PATH. */
export async function findPython(): Promise<string | undefined> {
  for (const name of NAMES) if ((await run(name, ["-c", FITS], ASK_MS)).ok) return name;
  return undefined;
}

/** The SDK's own environment in python/.venv, made once for each pyproject.toml. Resolves with its Python. */
export async function makeEnvironment(python: string): Promise<string> {
  const venv = join(folder, ".venv");
  const own = process.platform === "win32" ? join(venv, "Scripts/python.exe") : join(venv, "bin/python");
  const mark = join(venv, "made-for");
  const wanted = createHash("sha256")
    .update(await readFile(join(folder, "pyproject.toml")))
    .digest("hex");
  if (existsSync(mark) && (await readFile(mark, "utf8")) === wanted) return own;
  await rm(venv, { recursive: true, force: true });
  await mkdir(venv, { recursive: true });
  done(await run(python, ["-m", "venv", venv], INSTALL_MS));
  done(
    await run(
      own,
      ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[dev]"],
      INSTALL_MS,
      folder,
    ),
  );
  await writeFile(mark, wanted);
  return own;
}

function done({ ok, output }: Outcome): void {
  if (!ok) throw new Error(`python/.venv could not be made:\n${output}`);
}
