import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ByteBot, type ByteBotOptions } from "../app/bytebot.ts";
import type { ByReference, Component } from "../app/component.ts";
import { APP_FILE, readApp, type App, type AppComponent, type Listen } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { fileOf, openKept, withKept, type KeptValues } from "./kept.ts";

/** The shortest app that does something. */
const EXAMPLE = `{"infer": ["bb-infer"], "attach": ["bb-tools"]}`;

/** An app that is not started yet, and where it wants to be served over HTTP. */
export interface Loaded {
  hub: ByteBot;
  listen?: Listen | undefined;
}

/** The app of a file or a module. Throws BytebotError with the fix. */
export async function loadApp(
  path: string | undefined,
  options: ByteBotOptions,
  values: KeptValues = {},
): Promise<Loaded> {
  const file = await findApp(path);
  if (extname(file) !== ".json") {
    if (values.db !== undefined || values.memory)
      throw new BytebotError("invalid_params", `${file} is a module, which opens its log itself: see ByteBot.open`);
    return { hub: await loadModule(file) };
  }
  const app = await readApp(file);
  const kept = await openKept(fileOf(app, values));
  return { hub: await withKept(kept, () => toByteBot(app, { ...options, ...kept })), listen: app.listen };
}

/** The file named, of a folder its bytebot.app.json; none named: the working folder's. */
export async function findApp(path = "."): Promise<string> {
  const file = resolve(path);
  const found = await stat(file).catch(() => undefined);
  if (!found) {
    const message = `there is no ${file}: name a ${APP_FILE}, the folder that holds it, or a .js or .ts module`;
    throw new BytebotError("not_found", message);
  }
  const named = found.isDirectory() ? resolve(file, APP_FILE) : file;
  if (named !== file && !(await stat(named).catch(() => undefined))) {
    throw new BytebotError(
      "not_found",
      `there is no ${named}: write one, as in ${EXAMPLE}, or name an app file or a module, as in bytebot run my-app.json`,
    );
  }
  return named;
}

/** As an app file: chat brings its own ui, so it takes no module, which has one already. */
export async function findAppFile(path: string): Promise<string> {
  const file = await findApp(path);
  if (extname(file) === ".json") return file;
  throw new BytebotError(
    "invalid_params",
    `${file} is no app file: chat takes a ${APP_FILE}; a module is run with bytebot run`,
  );
}

export function toByteBot(app: App, options: ByteBotOptions): ByteBot {
  const ui: Component | undefined = options.ui ?? (app.ui && toComponent(app.ui));
  const hub = new ByteBot({
    base: app.base,
    policy: app.policy,
    ...(app.input ? { input: app.input } : {}),
    ...(app.retention ? { retention: app.retention as NonNullable<ByteBotOptions["retention"]> } : {}),
    ...(app.recovery ? { recovery: app.recovery } : {}),
    ...options,
    ...(ui === undefined ? {} : { ui }),
    ...(app.context ? { context: toComponent(app.context) } : {}),
  });
  for (const infer of app.infer) hub.attachInfer(toComponent(infer), { primary: infer.primary });
  for (const component of app.attach) hub.attach(toComponent(component));
  return hub;
}

function toComponent({ ref, opts, env }: AppComponent): ByReference {
  return { ref, opts, env };
}

async function loadModule(file: string): Promise<ByteBot> {
  let exported: unknown;
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    exported = typeof module.default === "function" ? await (module.default as () => unknown)() : module.default;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BytebotError("unavailable", `${file} cannot be loaded: ${why}`, { cause });
  }
  if (isByteBot(exported)) return exported;
  const message = `${file} has no ByteBot as its default export: write export default new ByteBot({ … }), or a function that returns one`;
  throw new BytebotError("invalid_params", message);
}

/** By what it can do: the module may have another copy of this package. */
function isByteBot(value: unknown): value is ByteBot {
  if (typeof value !== "object" || value === null) return false;
  const methods = value as Record<string, unknown>;
  return ["start", "stop", "listen", "components"].every((name) => typeof methods[name] === "function");
}
