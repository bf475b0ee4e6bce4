import { createRequire } from "node:module";
import { printLine, tell, UsageError, type Command } from "./usage.ts";

/** A timer or a socket that a model left open does not keep the process: milliseconds. */
const LEAVE_MS = 200;

/** Each in a file of its own, loaded when it is asked for. */
const commands: Record<string, { summary: string; load: () => Promise<{ command: Command }> }> = {
  models: { summary: "which models can be had from here", load: () => import("./models.ts") },
  doctor: { summary: "check a model: does it do what is announced of it", load: () => import("./doctor.ts") },
};

const { version } = createRequire(import.meta.url)("bb-infer/package.json") as { version: string };

const help = `bb-infer ${version}: the infer satellite of ByteBot. An app attaches it; this program looks at its models.

usage: bb-infer <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(7)} ${summary}`)
  .join("\n")}

bb-infer <command> --help says more.`;

async function main([name, ...args]: string[]): Promise<number> {
  const names = Object.keys(commands).join(", ");
  if (name === undefined) throw new UsageError("", `a command is needed: ${names}`);
  if (name === "--version" || name === "-v") return print(version);
  if (name === "--help" || name === "-h" || name === "help") return print(help);
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!known) throw new UsageError("", `there is no command ${JSON.stringify(name)}: the commands are ${names}`);
  const { command } = await known.load();
  return args.includes("--help") || args.includes("-h") ? print(command.help) : command.run(args);
}

function print(text: string): number {
  printLine(text);
  return 0;
}

// As after `| head`: whoever read has what they wanted. Anything else, such as a full disk, is a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") tell(error);
  process.exit(error.code === "EPIPE" ? 0 : 2);
});
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = 2;
  tell(error);
}
setTimeout(() => process.exit(), LEAVE_MS).unref();
