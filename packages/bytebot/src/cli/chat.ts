import { ByteBot } from "../app/bytebot.ts";
import type { ByReference } from "../app/component.ts";
import { BytebotError } from "../wire/index.ts";
import { readApp, type App } from "../resolve/index.ts";
import { findAppFile, toByteBot, type Loaded } from "./app.ts";
import { appOptions } from "./apps.ts";
import { chatUi } from "./chat-ui.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { demoApp } from "./demo.ts";
import { isBytebotError, tell, UsageError } from "./errors.ts";
import { fileOf, fileOfFolder, keptOptions, openKept, openOwn, withKept, type Kept } from "./kept.ts";
import { joinChat } from "./join.ts";
import { live } from "./live.ts";
import { prepareModel, type Prepared, type Wanted } from "./model.ts";
import { report } from "./output.ts";
import { Signals } from "./signals.ts";

const help = `usage: bytebot chat [app file] [options]

Talks to a model in the terminal. Without an app file the tools are the time, arithmetic, and the files below the working
folder (to list and read), and the model is the first that can be had: the one named by the options, ANTHROPIC_API_KEY,
OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY, a local Ollama or llama-server, else a small one that runs in this process
and is downloaded once.
With an app file (a bytebot.app.json, no module) its components are used, and the terminal is its ui.

With --join or --hub no app is started: this is another screen on the conversation of one that runs.

Without a terminal each line of stdin is one turn, and stdout has the answers.

  --once TEXT      one turn: prints the answer and ends
  --json           without a terminal: each event as a JSON line
  --yes            without a terminal: approves the calls that the policy asks about, instead of declining them
  --scope SCOPE    the conversation (default: local)
  --join           joins the newest app of yours that runs on this machine; --pid N or --socket PATH name another
  --hub URL        joins the app that is served there (bytebot run --listen), with the token in BYTEBOT_TOKEN
  --provider NAME  embedded, anthropic, openai, google, amazon-bedrock, ollama, llama-server, lmstudio, vllm,
                   openai-compatible, or the npm package of an AI SDK provider
  --model NAME     of the provider; for embedded the path of a GGUF file, or hf:user/repo/file.gguf
  --base-url URL   of the server, as in http://127.0.0.1:8080/v1
  --api-key-env VARIABLE
                   the name of the variable that holds the key, where it is not the provider's usual one
  --db FILE        the durable log, in which the conversation goes on (default: what the app file says, else one for each
                   folder in ~/.local/state/bytebot; with --once: none)
  --memory         keep nothing on the disk

exit codes: 0 ok, 1 it failed, 2 the command line is wrong
`;

const options = {
  once: { type: "string" },
  json: { type: "boolean" },
  scope: { type: "string" },
  yes: { type: "boolean" },
  join: { type: "boolean" },
  hub: { type: "string" },
  ...appOptions,
  provider: { type: "string" },
  model: { type: "string" },
  "base-url": { type: "string" },
  "api-key-env": { type: "string" },
  ...keptOptions,
} as const;

const WAYS =
  "three short ways to one: set ANTHROPIC_API_KEY or OPENAI_API_KEY; start Ollama (https://ollama.com); or give a GGUF file with --model";

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse("chat", args, options, 1);
    const {
      once,
      json = false,
      scope,
      yes,
      provider,
      model,
      "base-url": base_url,
      "api-key-env": api_key_env,
    } = values;
    if (once?.trim() === "") throw new UsageError("chat", "--once needs the text to send");
    if (scope !== undefined) toScopeOption("chat", scope);
    if (yes === true && once === undefined && process.stdin.isTTY && process.stdout.isTTY)
      throw new UsageError("chat", "--yes is for --once and for pipes: at a terminal you are asked");
    const said = { once, json, scope, yes };
    const { hub, pid, socket } = values;
    if (values.join === true || hub !== undefined || pid !== undefined || socket !== undefined) {
      mustOnlyJoin(values, positionals);
      await joinChat(said, { hub, pid, socket });
      return 0;
    }
    const keep = async (app: App | undefined): Promise<Kept> => {
      if (values.db !== undefined || values.memory || app) {
        const file = fileOf(app ?? { base: ".", log: "memory" }, values);
        // One answer is no conversation to go on with, unless somebody says so.
        return openKept(once !== undefined && values.db === undefined && app?.log === undefined ? undefined : file);
      }
      return once === undefined ? openOwn(fileOfFolder(process.cwd())) : {};
    };
    const found = await appFor(positionals[0], { provider, model, base_url, api_key_env }, chatUi(said), keep);
    if (found) {
      const { hub, listen: where } = found;
      return (await live(hub, { listen: where })) === "done" ? 0 : 1;
    }
    if (once !== undefined) return 1;
    report("The scripted demo opens instead.");
    return (await live(demoApp(said))) === "done" ? 0 : 1;
  },
};

/** Whoever joins an app starts none: what would say how to is a mistake. */
function mustOnlyJoin(values: Record<string, unknown>, positionals: readonly string[]): void {
  const local = ["join", "pid", "socket"].some((name) => values[name] !== undefined);
  if (local && values["hub"] !== undefined)
    throw new UsageError("chat", "--hub names an app by its URL, and --join, --pid and --socket one on this machine");
  const [named] = ["provider", "model", "base-url", "api-key-env", "db", "memory"].filter(
    (name) => values[name] !== undefined,
  );
  const extra = positionals[0] ?? (named && `--${named}`);
  if (extra !== undefined) throw new UsageError("chat", `${extra} is for an app that is started, and this joins one`);
}

/** The app of the file, or the default one; undefined where no model can be had, which has then been told. */
async function appFor(
  file: string | undefined,
  wanted: Wanted,
  ui: ByReference,
  keep: (app: App | undefined) => Promise<Kept>,
): Promise<Loaded | undefined> {
  const app = file === undefined ? undefined : await readApp(await findAppFile(file));
  const hasInfer = app !== undefined && app.infer.length > 0;
  if (hasInfer && isNamed(wanted))
    throw new UsageError("chat", `${app.file} says which infer answers, so name no other model here`);
  const model = hasInfer ? undefined : await modelFor(wanted);
  if (!hasInfer && !model) return undefined;
  const hub = await withKept(await keep(app), (kept) => {
    const options = { ui, report, ...kept };
    return app ? toByteBot(app, options) : new ByteBot(options);
  });
  if (!app) hub.attach({ ref: "bb-tools", opts: { root: process.cwd() } });
  if (!model) return { hub, listen: app?.listen };
  hub.attachInfer({ ref: "bb-infer", ...model }, { primary: true });
  return { hub, listen: app?.listen };
}

async function modelFor(wanted: Wanted): Promise<Prepared | undefined> {
  const signals = new Signals();
  try {
    return await prepareModel(wanted, signals.asked);
  } catch (error) {
    // Who named a model wants no other, and a fault of ours is no lack of models.
    if (isNamed(wanted) || signals.asked.aborted || !isBytebotError(error)) throw error;
    tell(new BytebotError("unavailable", `no model can be had: ${error.message}; ${WAYS}`));
    return undefined;
  } finally {
    signals.close();
  }
}

function isNamed(wanted: Wanted): boolean {
  return Object.values(wanted).some((value) => value !== undefined);
}
