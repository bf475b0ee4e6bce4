import { AsyncLocalStorage } from "node:async_hooks";
import type { Link, Receiver } from "../transport/index.ts";
import { BytebotError } from "../wire/index.ts";

/** What a satellite's `main` is started with: `opts` is what the app passed for this component. */
export type Main = (start: { opts: Record<string, unknown>; signal: AbortSignal }) => Promise<void>;

/** How the component that runs here reaches its Hub, and what it was given. */
export interface Ambient {
  connect(receiver: Receiver): Link;
  opts: Record<string, unknown>;
  /** Aborts when the component has to stop. */
  signal: AbortSignal;
  /** For people: the component. */
  name: string;
  /** Announces acknowledgements (`capabilities.acks`): the transport answers each event, or this side sends them itself. */
  acks?: "answers" | "sends" | undefined;
}

/** One run of one `main`. */
export interface Running extends Pick<Ambient, "opts" | "signal" | "name"> {
  ambient: Ambient;
  /** Set by the one `sync` of this run; ends its connection. */
  close?: (reason: string) => Promise<void>;
}

const LOADING = "loading";

/** Two copies of this package may be loaded, the app's and a component's own: they meet in one storage. */
export function shared<T>(key: string): AsyncLocalStorage<T> {
  const global = globalThis as unknown as Record<symbol, AsyncLocalStorage<T> | undefined>;
  return (global[Symbol.for(key)] ??= new AsyncLocalStorage<T>());
}

const storage = shared<Running | typeof LOADING>("bytebot.ambient");

/** The run this code belongs to; `loading` while the app only imports the module; undefined outside of any. */
export function ambient(): Running | typeof LOADING | undefined {
  return storage.getStore();
}

/** Loads an in-proc component's module: a `run(main)` at its top level does nothing, as the app calls its `main` itself. */
export function loadInproc<T>(load: () => Promise<T>): Promise<T> {
  return storage.run(LOADING, load);
}

/** Runs a component's `main` over this connection; settles as `main` does, after its connection is closed. */
export async function startInproc(main: Main, ambient: Ambient): Promise<void> {
  const { opts, signal, name } = ambient;
  const running: Running = { ambient, opts, signal, name };
  let reason = "its main returned";
  try {
    await storage.run(running, () => main({ opts, signal }));
  } catch (error) {
    reason = `its main failed: ${BytebotError.from(error).message}`;
    throw error;
  } finally {
    await running.close?.(reason);
  }
}
