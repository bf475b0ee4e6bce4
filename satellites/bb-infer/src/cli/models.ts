import { printable } from "bytebot/wire";
import { toOptions } from "../options.ts";
import { places } from "./models/places.ts";
import { told } from "./models/report.ts";
import { stoppable } from "./stoppable.ts";
import { parse, printLine, reach, type Command } from "./usage.ts";

const help = `usage: bb-infer models [options]

Which models can be had from here: those of every vendor whose key is set, of the local servers that run (Ollama,
llama-server, LM Studio, vLLM, each at its usual port), and the embedded one. Of each model its name, how many tokens it
reads, what it costs for a million tokens in and out, and what the satellite announces of it. Keys are never shown.

  --provider NAME     only this one: anthropic, openai, google, ollama, llama-server, lmstudio, vllm, embedded, …
  --base-url URL      only the server there; it usually ends in /v1
  --api-key-env NAME  the variable that holds its key; never the key itself
  --json              each place as a JSON line

exit codes: 0 there is at least one model, 1 there is none, 2 it could not be run`;

export const command: Command = {
  help,
  async run(args) {
    const { provider, "base-url": baseUrl, "api-key-env": keyEnv, json } = parse("models", args, reach);
    const named = { provider, base_url: baseUrl, api_key_env: keyEnv };
    // What an app may not say, this may not either.
    toOptions(Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)));
    const found = await stoppable((signal) => places({ provider, baseUrl, keyEnv }, process.env, signal));
    for (const place of found) printLine(json ? printable(JSON.stringify(place)) : told(place));
    return found.some(({ models }) => models.length > 0) ? 0 : 1;
  },
};
