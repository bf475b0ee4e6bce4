import { LateReceiver, processLink, type Link, type Receiver } from "../transport/index.ts";
import { BytebotError, toReport } from "../wire/index.ts";
import { ambient, startInproc, type Main } from "./ambient.ts";

/** What a `main` whose connection has closed may still take before the process exits; a Hub sends TERM after 1,000. */
const LEAVE_MS = 900;

/**
 * Runs a satellite's `main` over the connection it was started with: in-proc, or stdin and stdout. Over stdio the options
 * come as JSON in BYTEBOT_OPTS, prints go to stderr, and where `main` throws, one sentence on stderr says so and the exit
 * code is 1. Does nothing while an app only imports the module: it calls the exported `main`.
 */
export async function run(main: Main): Promise<void> {
  const outer = ambient();
  if (outer === "loading") return;
  if (outer) return main({ opts: outer.opts, signal: outer.signal });
  await runStdio(main);
}

async function runStdio(main: Main): Promise<void> {
  const stop = new AbortController();
  const leave = () => {
    stop.abort(new BytebotError("cancelled", "the satellite is being stopped"));
    setTimeout(() => process.exit(), LEAVE_MS).unref();
  };
  process.once("SIGTERM", leave);
  const stdio = new Stdio(leave);
  try {
    const opts = parseOpts(process.env["BYTEBOT_OPTS"]);
    await startInproc(main, {
      name: "the Hub",
      opts,
      signal: stop.signal,
      connect: (receiver) => stdio.connect(receiver),
    });
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${toReport(sentence(error))}\n`);
  } finally {
    await stdio.link.close("its main ended");
    process.removeListener("SIGTERM", leave);
  }
}

/** Stdin and stdout, taken before `main` runs: nothing it prints may end up between the events. */
class Stdio extends LateReceiver {
  readonly link: Link;
  private readonly gone: () => void;

  constructor(gone: () => void) {
    super();
    this.gone = gone;
    this.link = processLink(this);
  }

  connect(receiver: Receiver): Link {
    this.become(receiver);
    return this.link;
  }

  override closed(reason: string): void {
    super.closed(reason);
    this.gone();
  }
}

function parseOpts(text: string | undefined): Record<string, unknown> {
  if (text === undefined || text === "") return {};
  let opts: unknown;
  try {
    opts = JSON.parse(text);
  } catch {
    // Said below, without the text: options may hold a key.
  }
  if (typeof opts !== "object" || opts === null || Array.isArray(opts)) {
    throw new BytebotError(
      "invalid_params",
      `BYTEBOT_OPTS is no JSON object: set it to one, such as {"model":"m"}, or leave it unset`,
    );
  }
  return opts as Record<string, unknown>;
}

/** One line: what was thrown, why, and for anything but our own errors where. */
function sentence(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `bytebot: the satellite failed: ${String(thrown)}`;
  const cause = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : "";
  if (thrown.name === "BytebotError") return oneLine(`bytebot: ${thrown.message}${cause}`);
  const at = thrown.stack?.split("\n").find((line) => line.trimStart().startsWith("at "));
  return oneLine(
    `bytebot: the satellite failed: ${thrown.name}: ${thrown.message}${cause}${at ? ` ${at.trim()}` : ""}`,
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ");
}
