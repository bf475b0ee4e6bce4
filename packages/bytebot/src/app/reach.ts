import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { parseReference, resolve } from "../resolve/index.ts";
import { loadInproc, startInproc, type Main } from "../sdk/ambient.ts";
import { child, inprocPair, startChild, type Connect, type Link } from "../transport/index.ts";
import { BytebotError } from "../wire/index.ts";
import type { ByManifest, ByReference, InProcess } from "./component.ts";
import type { Reached } from "./reached.ts";
import { dialed, reachUrl } from "./url.ts";

export interface ReachOptions {
  base: string;
  /** A line the component printed. */
  print: (line: string) => void;
  /** A URL whose host resolves to a private address is refused: it was not the app's own code or config that named it. */
  publicOnly?: boolean | undefined;
}

/** Reference, manifest or function → a way to connect. Throws BytebotError with the fix. */
export async function reach(component: ByReference | InProcess | ByManifest, options: ReachOptions): Promise<Reached> {
  const { opts = {}, env = [] } = component;
  if ("main" in component) {
    const name = component.name ?? component.kind ?? "inproc";
    return inProcess(component.main, { name, kind: component.kind, scopes: component.scopes }, opts);
  }
  if ("entry" in component) {
    const { name = component.kind, kind, scopes, entry, token } = component;
    if (entry.type === "http") {
      const urls = { stream: new URL(entry.stream), inbox: new URL(entry.inbox) };
      return dialed({ name, kind, scopes }, { type: "http", ...urls }, { token, publicOnly: options.publicOnly });
    }
    return process({ name, kind, scopes }, entry.command, options.base, opts, env, options);
  }
  const { ref, token } = component;
  const reference = parseReference(ref);
  if (reference.type === "url") return reachUrl(component, reference.url, { token, publicOnly: options.publicOnly });
  const { manifest, entry, folder } = await resolve(ref, { base: options.base });
  const is = {
    name: component.name ?? manifest.name ?? basename(folder),
    kind: manifest.kind,
    scopes: component.scopes ?? manifest.scopes,
  };
  if (entry.type === "http") return dialed(is, entry, { token, publicOnly: options.publicOnly });
  if (entry.type === "stdio") return process(is, entry.command, folder, opts, env, options);
  return inProcess(await load(entry.module), is, opts);
}

type Is = Pick<Reached, "name" | "kind" | "scopes">;

function process(
  is: Is,
  command: string[],
  cwd: string,
  opts: object,
  allowEnv: readonly string[],
  options: ReachOptions,
): Reached {
  const env: Record<string, string> = Object.keys(opts).length === 0 ? {} : { BYTEBOT_OPTS: JSON.stringify(opts) };
  const program = { name: is.name, command, cwd, env, allowEnv };
  return {
    ...is,
    restartable: is.kind !== "ui",
    connect: child({ ...program, onStderr: options.print }),
    start: (signal, onStderr, { env: more, graceMs } = {}) =>
      startChild(
        { ...program, env: { ...env, ...more }, onStderr, ...(graceMs === undefined ? {} : { graceMs }) },
        signal,
      ),
  };
}

/** The `main` of a component that runs in this process, to start it elsewhere than in an app of its own. */
export async function mainOf(ref: string, base: string): Promise<Main> {
  const { entry } = await resolve(ref, { base });
  if (entry.type === "inproc") return load(entry.module);
  throw new BytebotError("invalid_params", `${ref} does not run in this process: its entry is of type ${entry.type}`);
}

async function load(module: string): Promise<Main> {
  let loaded: { main?: unknown };
  try {
    loaded = await loadInproc(() => import(pathToFileURL(module).href) as Promise<{ main?: unknown }>);
  } catch (cause) {
    throw new BytebotError(
      "unavailable",
      `${module} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  if (typeof loaded.main !== "function") {
    throw new BytebotError(
      "invalid_params",
      `${module} exports no function "main": an in-proc component exports the main it would pass to bb.run`,
    );
  }
  return loaded.main as Main;
}

function inProcess(main: Main, is: Is, opts: Record<string, unknown>): Reached {
  const outcome = Promise.withResolvers<BytebotError | undefined>();
  const connect: Connect = (receiver, signal) =>
    new Promise<Link>((resolve, reject) => {
      const running = startInproc(main, {
        name: is.name,
        opts,
        signal,
        connect: (satellite) => {
          const pair = inprocPair(is.name, receiver, satellite);
          resolve(pair.hub);
          return pair.satellite;
        },
      });
      running.then(
        () => {
          outcome.resolve(undefined);
          reject(new BytebotError("unavailable", `${is.name}: its main returned without bb.sync`));
        },
        (error: unknown) => {
          outcome.resolve(BytebotError.from(error));
          reject(BytebotError.from(error));
        },
      );
    });
  return { ...is, restartable: false, outcome: outcome.promise, connect };
}
