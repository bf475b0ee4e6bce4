import { printable, toReport } from "bytebot/wire";
import type { Outcome } from "./doctor/check.ts";
import { Exam } from "./doctor/exam.ts";
import { openSubject } from "./doctor/open.ts";
import { summed, told, toldSummary } from "./doctor/report.ts";
import { run } from "./doctor/run.ts";
import { checks } from "./doctor/table.ts";
import { stoppable } from "./stoppable.ts";
import { parse, printLine, reach, UsageError, type Command } from "./usage.ts";

const TIMEOUT_MS = 120_000;

const help = `usage: bb-infer doctor [options]

Opens a model as an app does, and checks that it does what the satellite announces of it: no less, and no more. A hosted
model gets some twenty short requests, which cost a few cents. Nothing chosen: the model that an app without options gets.

  --provider NAME     embedded, anthropic, openai, google, amazon-bedrock, openai-compatible, ollama, llama-server, …
  --model NAME        as opts.model
  --base-url URL      as opts.base_url
  --api-key-env NAME  the variable that holds the key; never the key itself
  --opts JSON         the options an app would pass; those above win. Fallbacks are left out: each has a doctor of its own
  --timeout S         seconds for each answer (default ${TIMEOUT_MS / 1000})
  --json              each outcome as a JSON line, the last one {"summary":…,"model":…,"capabilities":…}

${checks.map(({ name, title }) => `  ${name.padEnd(18)}  ${title}`).join("\n")}

exit codes: 0 all that could be checked is in order, 1 something is not, 2 it could not be run`;

const options = {
  ...reach,
  model: { type: "string" },
  opts: { type: "string" },
  timeout: { type: "string" },
} as const;

export const command: Command = {
  help,
  async run(args) {
    const values = parse("doctor", args, options);
    const timeoutMs = values.timeout === undefined ? TIMEOUT_MS : toMilliseconds(values.timeout);
    const named = {
      provider: values.provider,
      model: values.model,
      base_url: values["base-url"],
      api_key_env: values["api-key-env"],
    };
    const given = Object.entries(named).filter(([, value]) => value !== undefined);
    const opts = { ...(values.opts === undefined ? {} : toObject(values.opts)), ...Object.fromEntries(given) };
    return stoppable((signal) => examined(opts, { json: values.json === true, timeoutMs, signal }));
  },
};

async function examined(
  opts: Record<string, unknown>,
  { json, timeoutMs, signal }: { json: boolean; timeoutMs: number; signal: AbortSignal },
): Promise<number> {
  const report = (line: string) => void process.stderr.write(`bb-infer: ${toReport(line)}\n`);
  const subject = await openSubject(opts, { signal, report });
  const { provider, capabilities } = subject;
  const { label: model } = provider;
  const all: Outcome[] = [];
  try {
    if (!json)
      printLine(
        `${toReport(model)} (${toReport(subject.why)})\nannounced: ${printable(JSON.stringify(capabilities))}\n`,
      );
    for await (const outcome of run(new Exam(subject, { timeoutMs, signal }), signal)) {
      all.push(outcome);
      printLine(json ? printable(JSON.stringify(outcome)) : told(outcome));
    }
  } finally {
    await provider.close();
  }
  const summary = summed(all);
  printLine(json ? printable(JSON.stringify({ summary, model, capabilities })) : `\n${toldSummary(summary)}`);
  return summary.failed === 0 ? 0 : 1;
}

function toObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below, without the text: options may hold a key.
  }
  throw new UsageError("doctor", `--opts needs a JSON object, as in '{"tools":"native"}'`);
}

function toMilliseconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new UsageError("doctor", `--timeout ${JSON.stringify(text)} is no number of seconds up to 3600`);
}
