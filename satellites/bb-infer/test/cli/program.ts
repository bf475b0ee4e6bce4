import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../bin/bb-infer.js", import.meta.url));

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** The program as a person starts it, with these variables beside PATH and HOME; `begun` is called at its first output. */
export async function bbInfer(
  args: string[],
  env: NodeJS.ProcessEnv = {},
  begun: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, [bin, ...args], { env: { PATH, HOME, XDG_CACHE_HOME, ...env } });
  const ended: Ended = { code: null, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (ended.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (ended.err += text));
  child.stdout.once("data", () => begun(child));
  const [code] = (await once(child, "close")) as [number | null];
  return { ...ended, code };
}
