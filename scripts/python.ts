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

export interface Environment {
  /** Its folder. */
  venv: string;
  /** What pip installs, in the SDK's folder. */
  install: readonly string[];
  /** Made anew where this changes. */
  madeOf: string;
}

/** An environment, made once: default: the SDK's own in python/.venv, for each pyproject.toml. Resolves with its Python. */
export async function makeEnvironment(python: string, environment?: Environment): Promise<string> {
  const { venv, install, madeOf } = environment ?? {
    venv: join(folder, ".venv"),
    install: ["-e", ".[dev]"],
    madeOf: await readFile(join(folder, "pyproject.toml"), "utf8"),
  };
  const own = process.platform === "win32" ? join(venv, "Scripts/python.exe") : join(venv, "bin/python");
  const mark = join(venv, "made-for");
  const wanted = createHash("sha256").update(madeOf).digest("hex");
  if (existsSync(mark) && (await readFile(mark, "utf8")) === wanted) return own;
  await rm(venv, { recursive: true, force: true });
  await mkdir(venv, { recursive: true });
  done(venv, await run(python, ["-m", "venv", venv], INSTALL_MS));
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...install];
  done(venv, await run(own, pip, INSTALL_MS, folder));
  await writeFile(mark, wanted);
  return own;
}

function done(venv: string, { ok, output }: Outcome): void {
  if (!ok) throw new Error(`${venv} could not be made:\n${output}`);
}
