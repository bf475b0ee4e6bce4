import { version } from "../app/version.ts";
import { wantsHelp, type Command } from "./command.ts";
import { exitCodeOf, tell, UsageError } from "./errors.ts";
import { isUnread } from "./output.ts";

/** A timer or a socket that a component left open does not keep the process: milliseconds. */
const LEAVE_MS = 2000;

/** Each in a file of its own, loaded when it is asked for. */
const commands: Record<string, { summary: string; load: () => Promise<{ command: Command }> }> = {
  run: { summary: "run an app: a bytebot.app.json, or a module that exports one", load: () => import("./run.ts") },
  chat: { summary: "talk to a model in the terminal", load: () => import("./chat.ts") },
  tail: { summary: "print the live wire of a running app as JSON lines", load: () => import("./tail.ts") },
  check: {
    summary: "check a component, in any language, against the rules of the wire",
    load: () => import("./check.ts"),
  },
  log: {
    summary: "the durable log of an app: list, show, export, import, prune, rename, fork, delete, verify",
    load: () => import("./log.ts"),
  },
  token: {
    summary: "tokens of a running app: who may dial in, what for, and who they are",
    load: () => import("./token.ts"),
  },
  replay: {
    summary: "run a recorded conversation again: is its log the same, or where is the first difference",
    load: () => import("./replay.ts"),
  },
  hub: { summary: "a Hub for a program in another language, which owns it over stdio", load: () => import("./hub.ts") },
  demo: { summary: "a scripted demo: no model, no key, no network", load: () => import("./demo.ts") },
};

const help = `bytebot ${version}: LLM apps made of components that speak one line of JSON per event

usage: bytebot <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(6)} ${summary}`)
  .join("\n")}

bytebot <command> --help says more. BYTEBOT_DEBUG=1 shows where an error was thrown.
`;

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined) throw new UsageError("", `a command is needed: ${Object.keys(commands).join(", ")}`);
  if (name === "--version" || name === "-v") return print(`${version}\n`);
  if (name === "--help" || name === "-h" || name === "help") return print(help);
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!known) {
    const kind = name.startsWith("-") ? "option" : "command";
    throw new UsageError(
      "",
      `there is no ${kind} ${JSON.stringify(name)}: the commands are ${Object.keys(commands).join(", ")}`,
    );
  }
  const { command } = await known.load();
  if (wantsHelp(args)) return print(command.help);
  return command.run(args);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // Whoever stopped reading does not want to hear of it.
  if (!isUnread()) tell(error);
}
setTimeout(() => process.exit(), LEAVE_MS).unref();
